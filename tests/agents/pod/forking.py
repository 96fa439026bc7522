"""Gateways and bridges without the cost of an import: a process that has already imported them is copied.

It takes about 0.3 s of CPU to start Python and import one of them, ten times the work of most tests. A copied program
is a process of its own, with its own session, standard streams, environment and directory, and it runs the same
`main`. Only its arguments and environment in /proc differ, so tests about these start the program as the runtime does
(`whole=True`). The environment also says whether the program is measured for coverage.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import traceback
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

from slipcover import Slipcover

from tests import coverage_plugin, coverage_scope

ROOT = Path(__file__).resolve().parents[3]
REQUEST_BYTES = 65_536


class Forked:
    """The methods of `subprocess.Popen` that tests use."""

    def __init__(self, pid: int, ending: socket.socket) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._ending = ending

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        status = self._look(timeout)
        if status is None:
            raise subprocess.TimeoutExpired("forked", timeout or 0)
        return status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _look(self, timeout: float | None) -> int | None:
        """The exit status, as soon as the process that was copied has sent it. None if it does not come in time."""
        if self.returncode is None:
            self._ending.settimeout(timeout)
            try:
                told = self._ending.recv(16)
            except (BlockingIOError, TimeoutError):
                return None
            self.returncode = os.waitstatus_to_exitcode(int(told or b"9"))
            self._ending.close()
        return self.returncode


def start(
    program: str, environment: dict[str, str], stdin: bytes, out: IO[bytes], arguments: Sequence[str] = ()
) -> Forked:
    """Start `python -m agents.pod.PROGRAM ARGUMENTS…`, which reads `stdin` and writes to `out`."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb"), os.fdopen(writing, "wb") as document:
        request = json.dumps(
            {"program": program, "arguments": [program, *arguments], "environment": environment}
        ).encode()
        socket.send_fds(_parent(), [request], [theirs.fileno(), reading, out.fileno()])
        theirs.close()
        if not (told := ours.recv(16)):
            raise RuntimeError("the process that is copied has ended")
        document.write(stdin)
    return Forked(int(told), ours)


@functools.cache
def _parent() -> socket.socket:
    """The socket of the process that is copied, one for each process that runs tests. It ends with the socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            cwd=ROOT,
            stdin=theirs.fileno(),
            env=coverage_scope.unmeasured(),
            start_new_session=True,
        )
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def main() -> None:
    """Copies this process for each request, until the socket is closed."""
    recorder = coverage_plugin.begin() if coverage_plugin.is_on() else None

    from agents.pod.bridge import __main__ as bridge
    from agents.pod.gateway import __main__ as gateway

    programs = {"bridge": bridge.main, "gateway": gateway.main}
    asked = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    children: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as events:
        events.register(asked, selectors.EVENT_READ)
        events.register(_endings(), selectors.EVENT_READ, os.read)
        while True:
            for key, _ in events.select():
                if key.data:
                    key.data(key.fd, 4096)
                    _tell_endings(children)
                elif not _copy(asked, children, programs, recorder):
                    return


def _endings() -> int:
    """A file descriptor that can be read when a child has ended. If a signal handler did the work itself, the next
    child's end would interrupt it.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reading


def _copy(
    asked: socket.socket,
    children: dict[int, socket.socket],
    programs: dict[str, Callable[[], int]],
    recorder: Slipcover | None,
) -> bool:
    """Answer one request. Returns False if there are no more requests."""
    request, fds, _, _ = socket.recv_fds(asked, REQUEST_BYTES, 3)
    if not request:
        return False
    told = socket.socket(fileno=fds[0])
    pid = os.fork()
    if not pid:
        for open_here in (asked, told, *children.values()):
            open_here.close()
        _become(json.loads(request), fds[1], fds[2], programs, recorder)
    told.send(str(pid).encode())
    children[pid] = told
    for fd in fds[1:]:
        os.close(fd)
    return True


def _tell_endings(children: dict[int, socket.socket]) -> None:
    for pid in list(children):
        gone, status = os.waitpid(pid, os.WNOHANG)
        if gone:
            with children.pop(pid) as told, contextlib.suppress(ConnectionError):
                told.send(str(status).encode())


def _become(
    request: dict[str, Any],
    stdin: int,
    out: int,
    programs: dict[str, Callable[[], int]],
    recorder: Slipcover | None,
) -> NoReturn:
    """Run the program in the copied process, as if it had just been started."""
    status = 1
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        for there, number in ((stdin, 0), (out, 1), (out, 2)):
            os.dup2(there, number)
        os.close(stdin)
        os.close(out)
        os.environ.clear()
        os.environ.update(request["environment"])
        sys.argv = request["arguments"]
        status = programs[request["program"]]()
    except BaseException:  # noqa: BLE001 # as Python itself does
        traceback.print_exc()
    finally:
        if recorder and coverage_scope.is_on():
            coverage_plugin.leave(recorder, f"{coverage_plugin.COPY}{uuid.uuid4()}")
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
