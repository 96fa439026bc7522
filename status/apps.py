from __future__ import annotations

from celery.signals import task_success
from django.apps import AppConfig


class StatusConfig(AppConfig):
    name = "status"

    def ready(self) -> None:
        from accounts.console import Console  # noqa: PLC0415  # models cannot be imported earlier
        from status import loops  # noqa: PLC0415
        from status.overview import page  # noqa: PLC0415

        Console.overview = staticmethod(page.context)
        task_success.connect(loops.note_success, dispatch_uid="status.loops")
