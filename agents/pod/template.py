"""`python -m agents.pod.template`: starts gateways and bridges as copies of this process, which has imported both.

Copies share the memory of the template until they change it, so an idle pod takes less than half, and a start needs
little CPU. A copy is a process like any other: it has its own session, standard streams, arguments and environment. The
template has no secrets. It ends with the worker that started it; copies go on.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import socket
import sys
from pathlib import Path

from agents.pod import hardening
from agents.pod.bridge import __main__ as bridge
from agents.pod.gateway import __main__ as gateway

REQUEST_BYTES = 64 * 1024
_ARG_START = 45  # in /proc/<pid>/stat, counted from the field behind the name; then arg_end, env_start, env_end


def main() -> int:
    """Make a copy for each request on stdin, a socket, until the worker is gone."""
    mains = {"agents.pod.bridge": bridge.main, "agents.pod.gateway": gateway.main}
    # An engine, which runs as the same user, must not write its own code here, for copies that get secrets later.
    hardening.forbid_dumps()
    asked = socket.socket(fileno=os.dup(0))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so the kernel does not wait for somebody to ask how a copy ended
    gc.collect()
    gc.freeze()
    while True:
        request, fds, _, _ = socket.recv_fds(asked, REQUEST_BYTES, 3)
        if not request:
            return 0
        if os.fork() == 0:
            asked.close()
            module, arguments, environment = json.loads(request)
            _become(module, arguments, environment, fds)
            return mains[module]()
        for fd in fds:
            os.close(fd)


def _become(module: str, arguments: list[str], environment: dict[str, str], fds: list[int]) -> None:
    """Make this copy what a started program would be, and tell the worker. Raises OSError if the worker is gone."""
    stdin, output, told = fds
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for there, number in ((stdin, 0), (output, 1), (output, 2)):
        os.dup2(there, number)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [module, *arguments]
    _show([sys.executable, "-m", module, *arguments], [f"{name}={value}" for name, value in environment.items()])
    os.write(told, b"1")
    for fd in fds:
        os.close(fd)


def _show(*texts: list[str]) -> None:
    """Show these arguments and this environment in /proc. Raises ValueError if they are too long."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    places = list(map(int, fields[_ARG_START : _ARG_START + 4]))
    for start, end, text in zip(places[::2], places[1::2], texts, strict=True):
        shown = b"".join(os.fsencode(one) + b"\0" for one in text)
        if len(shown) > end - start:
            raise ValueError(f"{len(shown)} bytes do not fit into {end - start}")
        ctypes.memmove(start, shown.ljust(end - start, b"\0"), end - start)


if __name__ == "__main__":
    sys.exit(main())
