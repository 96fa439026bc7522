"""Containers as real processes: a thread for each starts the process, probes it, and restarts it when it ends."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from pathlib import Path

import psutil

from tests.doubles.kube import simulated
from tests.doubles.kube.pods import PodRun
from tests.doubles.kube.probes import Probe, probe
from tests.doubles.kube.resources import Object
from tests.doubles.kube.trouble import CRASH, IMAGE
from tests.doubles.kube.world import ROOT, ContainerWorld

_HEALTHY_SECONDS = 60.0  # after so long without a crash, the count of crashes starts again


class ContainerDouble:
    def __init__(self, run: PodRun, spec: Object) -> None:
        self.name: str = spec["name"]
        self.pid = 0
        self._run, self._spec = run, spec
        self._state = run.states[self.name]
        self._world = ContainerWorld(run, spec)
        self._woken = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._telling = threading.Lock()
        self._grace: float | None = None  # seconds; set once the container has to stop
        self._reason = ""  # why it was killed
        self._thread = threading.Thread(target=self._live, name=f"kube-{self.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._world.write_secrets()
        self._tell()

    def stop(self, seconds: float) -> None:
        self._grace = seconds
        self._tell()

    def join(self, seconds: float) -> None:
        if self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def kill(self, reason: str) -> None:
        self._reason = reason
        pid = self.pid
        for found in _tree(pid) if pid else []:
            _signal(found, signal.SIGKILL)

    def _tell(self) -> None:
        with self._telling:
            if self._woken >= 0:
                os.eventfd_write(self._woken, 1)

    def _live(self) -> None:
        try:
            while self._grace is None:
                self._pull()
                if self._grace is None:
                    self._once()
        finally:
            with self._telling:
                os.close(self._woken)
                self._woken = -1

    def _pull(self) -> None:
        """While the image cannot be pulled, wait until the test allows it."""
        while self._grace is None and self._is_main() and self._run.cluster.troubles.has(self._run.namespace, IMAGE):
            simulated.pull_badly(self._run, self._state)
            self._run.publish()
            self._sleep(
                None
                if self._state.waiting and self._state.waiting[0] == "ImagePullBackOff"
                else self._run.cluster.settings.crash_seconds
            )

    def _is_main(self) -> bool:
        return self._state is self._run.main

    def _sleep(self, seconds: float | None) -> None:
        """Wait for so many seconds, or until somebody wakes this thread."""
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        if poll.poll(None if seconds is None else max(0.0, seconds) * 1000):
            os.eventfd_read(self._woken)

    def _once(self) -> None:
        began = time.monotonic()
        self._reason = ""
        if self._is_main() and self._run.cluster.troubles.has(self._run.namespace, CRASH):
            self._state.run(ready=False)
            code = 1
        else:
            code = self._started()
        if time.monotonic() - began > _HEALTHY_SECONDS:
            self._state.restarts = 0
        self._state.end(code, self._reason)
        if self._grace is not None:
            return
        self._run.publish()
        self._back_off(code)

    def _back_off(self, code: int) -> None:
        until = time.monotonic() + simulated.crash(self._run, self._state, code)
        self._run.publish()
        while self._grace is None and (left := until - time.monotonic()) > 0:
            self._sleep(left)
        self._state.restarts += 1

    def _started(self) -> int:
        """Run the process and return its exit code; 128 if it cannot start."""
        try:
            return self._run_process()
        except OSError as error:
            self._reason = "StartError"
            self._run.event("Failed", f"Error: failed to create containerd task: {error}")
            return 128

    def _run_process(self) -> int:
        self._world.prepare()
        with self._world.log.open("ab") as log:
            process = subprocess.Popen(
                self._world.command(),
                env=self._world.environment(),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.pid = process.pid
        probes = {kind: self._probe(kind) for kind in ("startup", "liveness", "readiness")}
        self._state.run(ready=False)
        self._state.started = probes["startup"] is None
        self._state.ready = self._state.started and probes["readiness"] is None
        self._run.publish()
        code = self._watch(process, {kind: found for kind, found in probes.items() if found})
        self.pid = 0
        end_rest(process.pid, self._world.marks())
        return 128 - code if code < 0 else code

    def _probe(self, kind: str) -> Probe | None:
        return probe(self._spec, kind, self._run.address, self._run.cluster.settings.probe_seconds)

    def _watch(self, process: subprocess.Popen[bytes], probes: dict[str, Probe]) -> int:
        descriptor = os.pidfd_open(process.pid)
        try:
            while not self._ended(descriptor, self._seconds_left(probes)):
                if self._grace is not None:
                    self._end(process, descriptor, self._grace)
                elif self._ask(probes):
                    self._run.event(
                        "Killing", f"Container {self.name} failed liveness probe, will be restarted", type="Normal"
                    )
                    self._end(process, descriptor, float(self._run.pod["spec"]["terminationGracePeriodSeconds"]))
        finally:
            os.close(descriptor)
        return process.wait()

    def _ended(self, descriptor: int, seconds: float | None) -> bool:
        """Wait for the end of the process, at most `seconds`, or until woken. Returns whether the process ended."""
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        ready = dict(poll.poll(None if seconds is None else max(0.0, seconds) * 1000))
        if self._woken in ready:
            os.eventfd_read(self._woken)
        return descriptor in ready

    def _seconds_left(self, probes: dict[str, Probe]) -> float | None:
        asked = self._asked(probes)
        return min((found.due for found in asked.values()), default=0.0) - time.monotonic() if asked else None

    def _asked(self, probes: dict[str, Probe]) -> dict[str, Probe]:
        """The probes to ask now: until the container has started, only the startup probe."""
        if not self._state.started:
            return {kind: found for kind, found in probes.items() if kind == "startup"}
        return {kind: found for kind, found in probes.items() if kind != "startup"}

    def _ask(self, probes: dict[str, Probe]) -> bool:
        """Ask the probes that are due. Returns whether the container must be killed."""
        before = (self._state.started, self._state.ready)
        must_end = False
        for kind, found in self._asked(probes).items():
            if found.due > time.monotonic():
                continue
            is_good = found.ask()
            if kind == "startup" and is_good:
                self._state.started = True
                self._state.ready = "readiness" not in probes
            if kind == "readiness" and (is_good or found.has_failed()):
                self._state.ready = is_good
            must_end |= kind != "readiness" and found.has_failed()
        if before != (self._state.started, self._state.ready):
            self._run.publish()
        return must_end

    def _end(self, process: subprocess.Popen[bytes], descriptor: int, seconds: float) -> None:
        """Send SIGTERM, and SIGKILL after `seconds`."""
        process.send_signal(signal.SIGTERM if seconds > 0 else signal.SIGKILL)
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        if not poll.poll(seconds * 1000):
            process.kill()


def refresh(run: PodRun) -> None:
    """Start the containers that have not started, and wake the others."""
    if not run.containers:
        run.containers = [ContainerDouble(run, spec) for spec in run.pod["spec"]["containers"]]
        run.directory.mkdir(parents=True, exist_ok=True)
        for found in run.containers:
            found.start()
        return
    for found in run.containers:
        found.wake()


def ask_to_stop(run: PodRun, *, seconds: float) -> None:
    for found in run.containers:
        found.stop(seconds)


def stop(run: PodRun, *, seconds: float) -> None:
    """Stop all containers of the pod at the same time. Returns when they have ended."""
    ask_to_stop(run, seconds=seconds)
    for found in run.containers:
        found.join(seconds + 5.0)


def kill(run: PodRun, name: str, reason: str) -> None:
    for found in run.containers:
        if found.name == name:
            found.kill(reason)


def _tree(pid: int) -> list[psutil.Process]:
    try:
        first = psutil.Process(pid)
        return [first, *first.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _signal(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return


def end_rest(pid: int, marks: list[bytes]) -> None:
    """Kill the other processes of a container whose first process ended."""
    for found in psutil.process_iter():
        if found.pid != os.getpid() and _belongs(found.pid, pid, marks):
            _signal(found, signal.SIGKILL)


def _belongs(pid: int, session: int, marks: list[bytes]) -> bool:
    try:
        if os.getsid(pid) == session:
            return True
        said = Path(f"/proc/{pid}/environ").read_bytes() + Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return any(mark in said for mark in marks)
