"""Runs supervisord in this process. It restarts each program that ends, and starts the app after the preparation."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from supervisor import events
from supervisor.medusa.asyncore_25 import ExitNow
from supervisor.options import ProcessConfig, ServerOptions
from supervisor.process import Subprocess
from supervisor.states import ProcessStates, SupervisorStates
from supervisor.supervisord import Supervisor

from config.run import forks, postgres
from config.run.console import ProgramPrinter, last_lines, log_of

MAX_RESTART_DELAY_SECONDS = 5
POLL_SECONDS = 0.2


class _Restarted(Subprocess):  # type: ignore[misc]  # supervisor has no types
    """A process that is started again after at most five seconds. supervisord alone would wait longer each time."""

    backoff: int
    delay: float

    def change_state(self, new_state: int, expected: bool = True) -> Any:
        changed = super().change_state(new_state, expected)
        if new_state == ProcessStates.BACKOFF:
            self.backoff = min(self.backoff, MAX_RESTART_DELAY_SECONDS)
            self.delay = time.time() + self.backoff
        return changed


class _RestartedConfig(ProcessConfig):  # type: ignore[misc]  # supervisor has no types
    def make_process(self, group: Any = None) -> _Restarted:
        process = _Restarted(self)
        process.group = group
        return process


class _ForkingOptions(ServerOptions):  # type: ignore[misc]  # supervisor has no types
    """Runs our own programs as forks (forks.py)."""

    may_fork = False

    def execve(self, filename: str, argv: list[str], environment: dict[str, str]) -> None:
        """Called in a child that supervisord has forked."""
        ours = forks.module_of(argv) if self.may_fork else None
        if ours:
            forks.become(*ours, environment, parent=os.getppid())
        super().execve(filename, argv, environment)


class _QuickPoller:
    """Polls five times a second. supervisord looks at its children after each poll, which may take a second."""

    def __init__(self, poller: Any) -> None:
        self._poller = poller

    def poll(self, timeout: float) -> Any:
        return self._poller.poll(min(timeout, POLL_SECONDS))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._poller, name)


class _Supervisor(Supervisor):  # type: ignore[misc]  # supervisor has no types
    """Starts the app when `prepare` has succeeded; ends everything when it has failed."""

    failed = False
    console = ProgramPrinter()
    postgres_data: Path | None = None

    def runforever(self) -> None:
        self.options.poller = _QuickPoller(self.options.poller)
        events.subscribe(events.SupervisorRunningEvent, self._begin)
        events.subscribe(events.ProcessLogEvent, self.console.hear)
        events.subscribe(events.ProcessStateExitedEvent, self._exited)
        events.subscribe(events.ProcessStateBackoffEvent, self.console.tell_stumble)
        events.subscribe(events.Tick5Event, self._end_stuck_postgres)
        super().runforever()

    def _begin(self, _: object) -> None:
        """Import what the programs share while the stores start."""
        for store in self.process_groups["stores"].processes.values() if "stores" in self.process_groups else ():
            store.spawn()
        self.options.may_fork = forks.warm_up()

    def _exited(self, event: Any) -> None:
        process = event.process
        if process.config.name != "prepare":
            self.console.tell_end(process)
            return
        if process.exitstatus == 0:
            for member in self.process_groups["app"].processes.values():
                member.spawn()
            return
        self.failed = True
        log = log_of(process.config)
        self.console.tell(f"The start failed: see {log}\n{last_lines(log)}")
        self.options.mood = SupervisorStates.SHUTDOWN

    def _end_stuck_postgres(self, event: Any) -> None:
        """Kill a PostgreSQL that was told to stop, serves nobody and does not end. supervisord then starts it again."""
        if self.postgres_data is None:
            return
        pid = self.process_groups["stores"].processes["postgres"].pid
        if pid and postgres.is_stuck(self.postgres_data, pid=pid):
            self.console.tell("postgres did not stop when asked: it is killed and started again")
            os.kill(pid, signal.SIGKILL)


def serve(configuration: Path, *, postgres_data: Path | None) -> int:
    """Run all programs until told to stop.

    `postgres_data` is the embedded server's data directory. Returns the exit status.
    """
    options = _ForkingOptions()
    options.realize(["-n", "-c", str(configuration)])
    options.first, options.test = True, False
    for group in options.process_group_configs:
        for config in group.process_configs:
            config.__class__ = _RestartedConfig
    supervisor = _Supervisor(options)
    supervisor.postgres_data = postgres_data
    try:
        supervisor.main()
    except ExitNow:
        options.close_logger()
    return 1 if supervisor.failed else 0
