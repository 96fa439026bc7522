"""Carries out faults: finds the process among those of this run, and strikes it."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import psutil
import redis

from config import embedded
from tests.config.running import Run
from tests.crash import machine_state
from tests.crash.faults import Kill, KilledKind

FIND_SECONDS = 10.0  # a process that was struck a moment ago may not be back yet
POLL_SECONDS = 0.1
PODS = {
    KilledKind.GATEWAY: machine_state.GATEWAY,
    KilledKind.GATEWAY_HANGS: machine_state.GATEWAY,
    KilledKind.BRIDGE: machine_state.BRIDGE,
    KilledKind.ENGINE: machine_state.ENGINE,
}


@dataclass(slots=True)
class Striker:
    run: Run
    struck: Counter[KilledKind] = field(default_factory=Counter)

    def strike(self, fault: Kill) -> str:
        """Carry out the fault. Returns a description of what was struck."""
        special: dict[KilledKind, Callable[[Kill], str]] = {
            KilledKind.REDIS_WIPE: self._wipe,
            KilledKind.REDIS_HANGS: self._hang_redis,
            KilledKind.REDIS_AWAY: self._keep_redis_away,
        }
        done = special.get(fault.kind, self._signal)(fault)
        if not done.startswith("nothing"):
            self.struck[fault.kind] += 1
        return done

    def _signal(self, fault: Kill) -> str:
        until = time.monotonic() + FIND_SECONDS
        while time.monotonic() < until:
            if found := self._candidates(fault.kind):
                target = found[fault.choice % len(found)]
                with suppress(psutil.Error):
                    target.send_signal(_SIGNALS.get(fault.kind, signal.SIGKILL))
                    return f"{len(found)} to choose from, pid {target.pid}"
            time.sleep(POLL_SECONDS)
        return "nothing there to strike"

    def _candidates(self, kind: KilledKind) -> list[psutil.Process]:
        if role := PODS.get(kind):
            seen = [one for one in machine_state.pod_processes(self.run.home) if one.role == role and not one.stopped]
            return _processes([one.pid for one in sorted(seen, key=lambda one: (one.namespace, one.born))])
        name = {KilledKind.BACKEND: "postgres", KilledKind.POSTGRES_RESTART: "postgres"}.get(kind, kind.value)
        main = self.run.running().get(name)
        if main is None:
            return []
        if kind is KilledKind.BACKEND:
            return [child for child in main.children() if "agentpods" in _title(child)]
        return [main, *main.children()] if kind is KilledKind.WEB else [main]

    def _wipe(self, fault: Kill) -> str:
        try:
            with redis.Redis(unix_socket_path=str(embedded.redis_socket(self.run.home))) as client:
                client.flushall()
        except redis.RedisError as error:
            return f"nothing wiped: {error}"
        return "all keys"

    def _hang_redis(self, fault: Kill) -> str:
        found = self._candidates(KilledKind.REDIS)
        if not found:
            return "nothing there to stop"
        found[0].suspend()
        try:
            time.sleep(fault.lasts)
        finally:
            found[0].resume()
        return f"pid {found[0].pid}"

    def _keep_redis_away(self, fault: Kill) -> str:
        until, times = time.monotonic() + fault.lasts, 0
        while time.monotonic() < until:
            for process in self._candidates(KilledKind.REDIS):
                with suppress(psutil.Error):
                    process.kill()
                    times += 1
            time.sleep(POLL_SECONDS)
        return f"killed {times} times"


_SIGNALS = {KilledKind.POSTGRES_RESTART: signal.SIGINT, KilledKind.GATEWAY_HANGS: signal.SIGSTOP}


def _processes(pids: list[int]) -> list[psutil.Process]:
    found = []
    for pid in pids:
        with suppress(psutil.Error):
            found.append(psutil.Process(pid))
    return found


def _title(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
