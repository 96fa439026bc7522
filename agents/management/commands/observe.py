"""`manage.py observe`: watch all clusters until told to stop. `--check` says whether each cluster is observed."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from agents.clusters import observer
from config.metrics import listener


class Command(BaseCommand):
    help = "Watch all clusters and record the state of their pods, until it is stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="only check whether every cluster is observed; fail if one is not"
        )

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        if check:
            if late := observer.stale(timezone.now()):
                raise CommandError("\n".join(late))
            return
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        listener.serve()
        observer.Observer().run(stop)
