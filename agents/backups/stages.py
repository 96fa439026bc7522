"""STATE MACHINE of a backup: wanted, running, done, failed, removed."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from agents.backups.models import Backup, Stage
from config import states

TRANSITIONS: dict[Stage, set[Stage]] = {
    Stage.WANTED: {Stage.RUNNING, Stage.FAILED},
    Stage.RUNNING: {Stage.DONE, Stage.FAILED},
    Stage.DONE: {Stage.REMOVED},
    Stage.FAILED: set(),
    Stage.REMOVED: set(),
}


def move(rows: QuerySet[Backup], to: Stage, **values: Any) -> int:
    """The only function that assigns a stage, together with these values. Leaves out backups whose stage does not lead
    there, since another worker was faster. Returns how many moved."""
    return rows.filter(stage__in=states.before(TRANSITIONS, to)).update(stage=to, **values)
