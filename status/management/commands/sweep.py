"""`manage.py sweep`: does all due work of every app once, now. It is in the app that may import all others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from accounts import code_mail, letters
from accounts import purge as accounts_purge
from accounts.models import Letter, SignInCode
from agents import suspension
from agents.domains import observing
from agents.models import Agent
from agents.running import reconciler, sweeper
from agents.watching import sampling
from billing import dunning, verification
from billing.providers.crypto import misplaced, scanning, watching
from billing.providers.stars import feed, orders, refunds
from catalog import personas
from webhooks import delivery_loop, purging
from webhooks.models import Delivery


class Command(BaseCommand):
    help = "Do all due work once. In development, --now sets another time for it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--now", help="the time to use, ISO 8601 with an offset; development only")

    def handle(self, *args: Any, now: str | None, **options: Any) -> None:
        at = _moment(now)
        work: dict[str, Callable[[], object]] = {
            "sign-in mail": lambda: code_mail.send_due(now=at),
            "letters": lambda: letters.send_due(now=at),
            "agents forgotten": lambda: sweeper.sweep(at),
            "domains looked at": lambda: observing.look_at_due(at),
            "pods measured": lambda: sampling.sample(at),
            "agents of suspended accounts": suspension.enforce,
            "licences to verify": verification.verify_due,
            "deposits for pending orders": lambda: scanning.scan(now=at),
            "late deposits": lambda: watching.watch(now=at),
            "baselines that are final": lambda: watching.reread(now=at),
            "misplaced money": lambda: misplaced.look(now=at),
            "stars that were paid": lambda: feed.reconcile(now=at),
            "stars to send back": lambda: refunds.send_due(now=at),
            "stars orders given up": lambda: orders.expire_due(now=at),
            "terms due": lambda: dunning.step_due(now=at),
            "agents due": lambda: reconciler.reconcile_due(at),
            "deliveries": lambda: delivery_loop.drain(clock=lambda: at, ahead=timedelta(0)),
            "deployments shown": personas.show_deployments,
            "old events": lambda: purging.purge(now=at),
            "old codes, sessions and replies": lambda: accounts_purge.run(now=at),
        }
        for name, do in work.items():
            self.stdout.write(f"{name}: {do() or 0}")
        for name, rows in _left(at).items():
            self.stdout.write(f"left, {name}: {rows.count()}")


def _left(at: datetime) -> dict[str, QuerySet[Any]]:
    """Work that failed or is not finished. A later run or the workers continue it."""
    return {
        "deliveries to be tried again": Delivery.objects.pending(),
        "sign-in mail": SignInCode.objects.filter(mail_due_at__isnull=False),
        "letters": Letter.objects.filter(mail_due_at__isnull=False),
        "agents due": Agent.objects.due(at),
        "terms due": Agent.objects.term_due(at),
    }


def _moment(given: str | None) -> datetime:
    if given is None:
        return timezone.now()
    if not settings.DEVELOPMENT:
        raise CommandError("--now: in development only")
    try:
        moment = parse_datetime(given)
    except ValueError:  # well-formed, but the day does not exist
        moment = None
    if moment is None or moment.tzinfo is None:
        raise CommandError(f"--now: {given!r} must be ISO 8601 with an offset, such as 2026-12-01T00:00:00Z")
    return moment
