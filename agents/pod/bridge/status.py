"""The status that the bridge reports about its engine: by HTTP, and in the file `state.json` for the runtime, which
does not ask pods by HTTP.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from agents.cause import Cause
from agents.pod import processes
from agents.pod.bridge import causes, files, wall
from agents.pod.bridge.log import EngineLog
from agents.runtimes.base import Phase

log = logging.getLogger(__name__)

PROGRESS_SECONDS = 5.0  # between two progress lines in the log


class StatusFile:
    def __init__(self, path: Path, *, engine_log: EngineLog, engine_pid: Callable[[], int | None]) -> None:
        self._path = path
        self._log = engine_log
        self._engine_pid = engine_pid
        self.phase = Phase.STARTING
        self.since = datetime.now(UTC)
        self.revision: int | None = None
        self.restarts = 0
        self.walled = False  # whether the engine's processes are walled in
        self.cause: str | None = None
        self.message: str | None = None
        self._evidence: list[str] = []
        self._trouble: tuple[str, str] | None = None
        self._told_at = float("-inf")

    def show(self, phase: Phase, *, cause: str | None = None, message: str | None = None) -> None:
        """Set the engine's phase. If there is a cause, the engine's last log lines are kept as evidence."""
        changed = (phase, cause) != (self.phase, self.cause)
        if phase != self.phase:
            self.since = datetime.now(UTC)
        self.phase, self.cause, self.message = phase, cause, self._log.masked(message) if message else None
        self._evidence = self._log.evidence if cause else []
        if changed:
            log.info("%s%s", phase, f" {cause}: {self.message}" if cause else "")
        self.publish()

    def progress(self, message: str) -> None:
        """Show the progress of the current step. The next publishing writes it to `state.json`; the log gets it every
        few seconds.
        """
        if message != self.message:
            self.message, self._evidence = self._log.masked(message), [self._log.masked(message)]
            now = time.monotonic()
            if now - self._told_at >= PROGRESS_SECONDS:
                self._told_at = now
                log.info("%s", self.message)

    def trouble(self, cause: str, message: str) -> None:
        """Report a problem for the owner although the engine answers its probe."""
        self._trouble = (cause, self._log.masked(message))

    def clear_trouble(self) -> None:
        self._trouble = None

    def body(self) -> dict[str, Any]:
        cause, message, evidence = self.cause, self.message, self._evidence
        if self.phase == Phase.READY and cause is None and self._trouble:
            cause, message = self._trouble
            evidence = self._evidence_of(message)
        return {
            "phase": self.phase,
            "revision": self.revision,
            "restarts": self.restarts,
            "cause": cause,
            "message": message,
            "evidence": evidence,
            "since": self.since.isoformat(),
            "enginePid": self._engine_pid(),
            "walled": self.walled and not wall.outside(processes.descendants(psutil.Process())),
        }

    def _evidence_of(self, trouble: str) -> list[str]:
        """The engine's last lines. The trouble itself comes first if the engine has said so much since that those lines
        no longer contain it.
        """
        said = self._log.evidence
        return said if any(line in trouble for line in said) else [trouble, *said]

    def publish(self) -> None:
        text = json.dumps(self.body())
        try:
            files.write(self._path, text)
        except OSError as error:
            log.warning("state.json: %s", error)
            if causes.of_error(error) == Cause.DISK_FULL:
                self._publish_in_place(text)

    def _publish_in_place(self, text: str) -> None:
        """Overwrite the file in place. Even a full disk has room for this, and a bridge that stopped publishing would
        look hung.
        """
        try:
            with self._path.open("r+", encoding="utf-8") as file:
                file.write(text.ljust(self._path.stat().st_size))
        except OSError as error:
            log.warning("state.json in place: %s", error)
