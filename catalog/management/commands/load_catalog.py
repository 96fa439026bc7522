"""Load the catalog's data files into the database."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from catalog import files, loading


class Command(BaseCommand):
    help = (
        "Load the catalog's data files: create what is missing, update what nobody edited, hide what is gone. "
        "May be run at any time, on several machines at once."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--overwrite", action="store_true", help="also replace rows that were edited in the admin")
        parser.add_argument("--source", type=Path, default=files.DATA, help="directory of the data files")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            report = loading.load(options["source"], overwrite=options["overwrite"])
        except files.CatalogInvalid as error:
            raise CommandError(f"the data files are wrong; nothing was written:\n{error}") from error
        for outcome in ("created", "updated", "restored", "hidden"):
            for name in getattr(report, outcome):
                self.stdout.write(f"{outcome}: {name}")
        for name in report.kept:
            self.stdout.write(self.style.WARNING(f"kept as edited here: {name}; --overwrite replaces it"))
        self.stdout.write(f"catalog: {report.summary()}")
