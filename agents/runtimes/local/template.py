"""The worker's side of the template (agents/pod/template.py), of which gateways and bridges are copies."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3]
MODULE = "agents.pod.template"
COPY_SECONDS = 10.0  # with a template that takes longer, there is no copy
# In /proc, a copy's arguments and environment take the place of the template's own. These are longer by this.
ROOM = "-" * 1024


class Template:
    """The template is started for the first copy, and for the next one after it has ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asking: socket.socket | None = None
        self._end: Callable[[], object] = lambda: None

    def copy(
        self,
        module: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        marks: Mapping[str, str],
        fds: Sequence[int],
    ) -> bool:
        """Run `python -m <module> <arguments>…` as a copy, with this stdin and output. The `marks` are added to its
        environment alone. False if there is no copy.
        """
        request = json.dumps([module, [*arguments], {**environment, **marks}]).encode()
        asking = self._begun(environment)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.settimeout(COPY_SECONDS)
            try:
                socket.send_fds(asking, [request], [*fds, theirs.fileno()])
                theirs.close()
                is_made = bool(ours.recv(1))
            except OSError:
                is_made = False
        if not is_made:
            self._give_up(asking)
        return is_made

    def begin(self, environment: Mapping[str, str]) -> None:
        """Start the template now, so that the first copy need not wait for its imports."""
        self._begun(environment)

    def _give_up(self, asking: socket.socket) -> None:
        """End this template. The next copy is made of a new one."""
        with self._lock:
            if self._asking is asking:
                self._end()
                self._asking = None

    def _begun(self, environment: Mapping[str, str]) -> socket.socket:
        with self._lock:
            if self._asking is None:
                self._asking, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                self._asking.settimeout(COPY_SECONDS)
                with theirs:
                    process = subprocess.Popen(
                        [sys.executable, "-m", MODULE, ROOM],
                        stdin=theirs.fileno(),
                        cwd=SOURCE,
                        env={**environment, "ROOM": ROOM},
                        start_new_session=True,
                    )
                self._end = weakref.finalize(self, _end, self._asking, process)
            return self._asking


def _end(asking: socket.socket, process: subprocess.Popen[bytes]) -> None:
    asking.close()
    process.kill()
    process.wait()
