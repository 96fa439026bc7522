"""The web program: the WSGI application on granian, one process with 64 threads."""

from __future__ import annotations

import signal
from typing import Any

from config.run import launch

THREADS = 64
KILL_TIMEOUT_SECONDS = 3


def application() -> Any:
    """Called in granian's own child process, which must not outlive the program that holds its port."""
    launch.end_with_parent(signal.SIGKILL)
    from config import heap  # noqa: PLC0415 # imported in the child, after the line above
    from config.wsgi import application as wsgi  # noqa: PLC0415

    heap.settle()
    _warm()
    return wsgi


def _warm() -> None:
    from catalog.views import warming  # noqa: PLC0415 # its models need the application

    warming.start()


def main() -> None:
    from granian import Granian  # noqa: PLC0415 # `application` is imported without it
    from granian.constants import Interfaces  # noqa: PLC0415

    from config import settings  # noqa: PLC0415

    Granian(
        "config.run.web:application",
        factory=True,
        interface=Interfaces.WSGI,
        address="127.0.0.1",
        port=settings.PORT,
        blocking_threads=THREADS,
        respawn_failed_workers=True,
        workers_kill_timeout=KILL_TIMEOUT_SECONDS,
        websockets=False,
    ).serve()


if __name__ == "__main__":
    main()
