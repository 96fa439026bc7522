"""The web program: Django behind `config/serving`, on granian, in one process."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from typing import Any

from config.run import files, launch

# Requests that run at once. Requests that wait for another service use other threads (config/waiting.py).
THREADS = 32
# Connections: more than enough, because idle and slow ones cost little. Each is an open file. The other files are
# mostly connections to pods: of turns and of followed logs (config/waiting.py).
MAX_CONNECTIONS = 16_384
OTHER_FILES = 6_144
# The time limit for the headers of a request, and for the pause between two requests (milliseconds).
HEADER_MILLISECONDS = 15_000
HEADER_BYTES = 32_768
KILL_TIMEOUT_SECONDS = 3


def application() -> Any:
    """Called in granian's child process. The child must not live longer than its parent, which holds the port."""
    launch.end_with_parent(signal.SIGKILL)
    from config import heap, help_links, waiting  # noqa: PLC0415 # imported in the child, after the line above
    from config.metrics import listener  # noqa: PLC0415
    from config.serving.front import Front  # noqa: PLC0415
    from config.serving.server import DRAIN  # noqa: PLC0415
    from config.tracing import starting  # noqa: PLC0415
    from config.wsgi import application as django  # noqa: PLC0415
    from status.views.health import ALIVE  # noqa: PLC0415
    from status.watch.watcher import Watcher  # noqa: PLC0415

    starting.start("web")
    heap.settle()
    _warm()
    waiters = waiting.turns.threads + waiting.looks.total + waiting.names.total
    alive, help_link = json.dumps(ALIVE).encode(), help_links.link(help_links.ERRORS)
    front = Front(django, running=THREADS, waiting=waiters, alive=alive, help_link=help_link)
    signal.signal(DRAIN, lambda *_: front.drain())
    listener.serve()
    Watcher().start()
    return front


def _warm() -> None:
    from django.conf import settings  # noqa: PLC0415

    from config import preload  # noqa: PLC0415
    from mcp_server import warming as warming_of_mcp  # noqa: PLC0415
    from pages import warming  # noqa: PLC0415 # its models need the loaded apps

    preload.run()
    warming.start()
    if not settings.DEVELOPMENT:  # a laptop keeps the 25 MB until MCP is used
        warming_of_mcp.start()


def main() -> None:
    from granian.constants import HTTPModes, Interfaces, Loops  # noqa: PLC0415 # `application` is imported without it
    from granian.http import HTTP1Settings  # noqa: PLC0415

    from config import settings  # noqa: PLC0415
    from config.serving.server import WebServer  # noqa: PLC0415

    given = arguments(sys.argv[1:], port=settings.PORT)
    connections = files.allow(MAX_CONNECTIONS + OTHER_FILES) - OTHER_FILES
    WebServer(
        "config.run.web:application",
        factory=True,
        interface=Interfaces.RSGI,
        address=given.address,
        port=given.port,
        loop=Loops.asyncio,
        backlog=4096,
        backpressure=max(128, min(MAX_CONNECTIONS, connections)),
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=HEADER_MILLISECONDS, max_buffer_size=HEADER_BYTES),
        respawn_failed_workers=True,
        workers_kill_timeout=given.stop_seconds,
        drain_seconds=given.drain_seconds,
        websockets=False,
    ).serve()


def arguments(given: Sequence[str], *, port: int) -> argparse.Namespace:
    """The parsed command line; `port` is the default port."""
    parser = argparse.ArgumentParser(prog="python -m config.run.web", description=__doc__)
    parser.add_argument("--address", default="127.0.0.1", help="where to listen (default: %(default)s)")
    parser.add_argument("--port", type=int, default=port, help="(default: PORT, %(default)s)")
    parser.add_argument(
        "--drain-seconds",
        type=int,
        default=0,
        help="how long it goes on answering after SIGTERM, while clients turn elsewhere (default: %(default)s)",
    )
    parser.add_argument(
        "--stop-seconds",
        type=int,
        default=KILL_TIMEOUT_SECONDS,
        help="how long requests may take to end after that (default: %(default)s)",
    )
    return parser.parse_args(given)


if __name__ == "__main__":
    main()
