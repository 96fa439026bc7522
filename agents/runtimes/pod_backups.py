"""Backups of a running pod, and restores into one: the calls of the control plane to the pod's gateway."""

from __future__ import annotations

import dataclasses
import operator
import re
from dataclasses import dataclass, field
from typing import Any

from agents.pod.turns.failures import EngineError
from agents.runtimes.base import Access, Endpoint
from agents.runtimes.management import body_of, call

BACKUP_SECONDS = 15.0
MAX_BROKEN = 2**31 - 1
_SNAPSHOT = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupOrder:
    """What a pod needs for a backup: the endpoint's address, the credential for it, and the repository's password."""

    id: str
    url: str
    credential: str = field(repr=False)
    password: str = field(repr=False)
    most_bytes: int
    snapshot: str = ""  # the snapshot to restore
    repository: str = ""  # the repository to restore from, if it is not the agent's own


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupState:
    """`phase` is running, done or failed. Only `done` has a snapshot. `size` is in bytes."""

    phase: str
    snapshot: str
    size: int
    message: str  # the reason of a failure, or a remark about a finished backup
    broken: int = 0  # number of the agent's databases in the backup that are damaged or only copied as files


def back_up(endpoint: Endpoint, access: Access, order: BackupOrder) -> BackupState:
    """Start a backup or get its progress. A call with the same order id means the same backup. Raises HopFailure."""
    with call("PUT", endpoint, access, "/backup", seconds=BACKUP_SECONDS, body=dataclasses.asdict(order)) as answer:
        said = body_of(answer, "phase")
    try:
        if said["phase"] != "done":
            return BackupState(phase=str(said["phase"]), snapshot="", size=0, message=str(said.get("message", "")))
        size = min(max(operator.index(said["size"]), 0), order.most_bytes)
        broken = min(max(operator.index(said.get("broken", 0)), 0), MAX_BROKEN)
        note = str(said.get("note", ""))
        return BackupState(phase="done", snapshot=_snapshot(said), size=size, message=note, broken=broken)
    except (KeyError, TypeError, ValueError) as error:
        raise EngineError("the engine's bridge gave an unknown answer about its backup") from error


def restore(endpoint: Endpoint, access: Access, order: BackupOrder) -> BackupState:
    """Start a restore, in a pod that was started for it, or get its progress. Raises HopFailure."""
    with call("PUT", endpoint, access, "/restore", seconds=BACKUP_SECONDS, body=dataclasses.asdict(order)) as answer:
        said = body_of(answer, "phase")
    return BackupState(phase=str(said["phase"]), snapshot="", size=0, message=str(said.get("message", "")))


def _snapshot(said: dict[str, Any]) -> str:
    if not _SNAPSHOT.fullmatch(said["snapshot"]):
        raise ValueError
    return str(said["snapshot"])
