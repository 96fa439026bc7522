"""Removes an operator's second factors, for the last owner, whom nobody else can help."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from accounts import mailbox
from accounts.factors import changing
from accounts.models import User
from config.audit import Acting, note


class Command(BaseCommand):
    help = "Removes an operator's second factors, recovery codes, console sessions and link to the OIDC provider."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--reason", required=True, help="Why. It is in the audit log.")

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user = User.objects.filter(email=mailbox.canonical(options["email"]), is_staff=True).first()
        except mailbox.NotAnAddress:
            user = None
        if user is None:
            raise CommandError("no operator has this address")
        changing.reset(user)
        note(changing.RESET, user, reason=options["reason"], by=Acting(who="manage.py"))
        self.stdout.write(f"{user} signs in with the password alone now, and then adds a new second factor.")
