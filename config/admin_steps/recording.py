"""Writes what a step did to a row: the admin's history of each object, and the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.admin.models import LogEntry

from config import audit
from config.admin_steps.step import Given, Logged, Step
from config.audit.log import Change


def written(step: Step[Any], row: Any, given: Given, logged: Logged | None, *, changes: Sequence[Change] = ()) -> None:
    for about, message in logged if logged is not None else [(row, f"{step.done}: {given.reason}")]:
        LogEntry.objects.log_actions(given.user.pk, [about], step.flag, change_message=message, single_object=True)
        reason = given.reason if logged is None else message
        audit.note(step.title, about, reason=reason, changes=changes if about is row else ())
