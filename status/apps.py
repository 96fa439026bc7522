from __future__ import annotations

from celery.signals import beat_init, task_success
from django.apps import AppConfig


class StatusConfig(AppConfig):
    name = "status"

    def ready(self) -> None:
        from accounts.console import Console  # noqa: PLC0415  # models cannot be imported earlier
        from status import loops  # noqa: PLC0415
        from status.overview import page  # noqa: PLC0415

        Console.overview = staticmethod(page.context)
        task_success.connect(loops.note_success, dispatch_uid="status.loops")
        beat_init.connect(_tell_figures, dispatch_uid="status.figures")


def _tell_figures(**_: object) -> None:
    from status import figures  # noqa: PLC0415  # as above

    figures.tell()
