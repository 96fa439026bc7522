"""`manage.py rotate_secrets`. Commands must be in an app, and this is the lowest one; the rule is in config."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config import rotation


class Command(BaseCommand):
    help = (
        "Re-encrypt every secret at rest under the first key of SECRETS_KEYS. Put the new key before the old ones, "
        "restart, run this, then remove the old keys. Harmless to interrupt and to repeat."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        unreadable = 0
        for count in rotation.rotate():
            unreadable += count.unreadable
            self.stdout.write(
                f"{count.column}: {count.resealed} re-encrypted, {count.current} already current, "
                f"{count.unreadable} unreadable"
            )
        if unreadable:
            raise CommandError(
                f"{unreadable} values were sealed with a key that SECRETS_KEYS does not have: put it back"
            )
