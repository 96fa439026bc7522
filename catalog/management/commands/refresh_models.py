"""Bring the models and their prices up to date with models.dev."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from catalog import models_dev, refreshing

MOST = 100
NAMED = 20  # malformed entries


class Command(BaseCommand):
    help = (
        "Compare the models with a list in the form of models.dev: add the newest of each provider and cost class, "
        "follow prices, hide what is neither those nor in use. Prints what would change; --write changes it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--source", default=settings.MODELS_SOURCE, help="address or file of the list (default: %(default)s)"
        )
        parser.add_argument(
            "--newest",
            type=_number,
            default=refreshing.NEWEST,
            metavar="N",
            help="models to offer of each provider and cost class (default: %(default)s)",
        )
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--write", action="store_true", help="change the catalog")
        which.add_argument("--dry-run", action="store_true", help="only print what would change; the default")

    def handle(self, *args: Any, **options: Any) -> None:
        source, write = options["source"], options["write"]
        try:
            diff = refreshing.refresh(
                models_dev.read(source),
                source=models_dev.label_of(source),
                now=timezone.now(),
                newest=options["newest"],
                write=write,
            )
        except (models_dev.SourceUnreadable, refreshing.NothingToRefresh) as error:
            raise CommandError(f"nothing was written: {error}") from error
        self._print(diff)
        done = "written" if write else "nothing written; --write changes the catalog"
        self.stdout.write(f"models: {diff.summary()} ({done})")

    def _print(self, diff: refreshing.Diff) -> None:
        for outcome in ("added", "repriced", "returned", "hidden", "kept"):
            for line in getattr(diff, outcome):
                self.stdout.write(f"{outcome}: {line}")
        for provider in diff.untouched:
            self.stdout.write(f"untouched: {provider}: not in the list")
        for reason, count in sorted(diff.skipped.items()):
            self.stdout.write(f"skipped: {count} {reason}")
        for line in diff.malformed[:NAMED]:
            self.stdout.write(self.style.WARNING(f"malformed: {line}"))
        if (more := len(diff.malformed) - NAMED) > 0:
            self.stdout.write(self.style.WARNING(f"malformed: {more} more"))


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MOST:
        raise ArgumentTypeError(f"must be a number from 1 to {MOST}")
    return int(text)
