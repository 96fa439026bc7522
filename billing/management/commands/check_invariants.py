"""`manage.py check_invariants`: print each broken invariant of billing in a line. Exit code 1 if there is any."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from billing import invariants


class Command(BaseCommand):
    help = "Run the ledger checks. Prints one line for each problem; the exit code is then 1."

    def handle(self, *args: Any, **options: Any) -> None:
        findings = invariants.broken(now=timezone.now())
        for finding in findings:
            self.stdout.write(finding)
        if findings:
            raise CommandError(f"the ledger checks found {len(findings)} problems")
        self.stdout.write("Ledger checks: no problems")
