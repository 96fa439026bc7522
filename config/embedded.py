"""The addresses of the embedded PostgreSQL and Redis of `make run`: sockets that only their owner may open."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from urllib.parse import quote

SOCKET_PATH_BYTES = 107  # the longest path that fits into sockaddr_un
POSTGRES_SOCKET = ".s.PGSQL.5432"
REDIS_SOCKET = "redis.sock"


def postgres_data(home: Path) -> Path:
    """The data directory. The file `postgres.path` has its path when it is outside of home (config/run/postgres.py)."""
    pointer = home / "postgres.path"
    return Path(pointer.read_text(encoding="utf-8").strip()) if pointer.exists() else home / "postgres"


def postgres_url(home: Path) -> str:
    sockets = socket_directory(postgres_data(home), POSTGRES_SOCKET)
    return f"postgresql://postgres@/agentpods?host={quote(str(sockets), safe='')}"


def redis_url(home: Path) -> str:
    return f"redis+socket://{redis_socket(home)}"


def redis_socket(home: Path) -> Path:
    return socket_directory(home / "redis", REDIS_SOCKET) / REDIS_SOCKET


def socket_directory(directory: Path, name: str) -> Path:
    """`directory`, or a directory with a short name under /tmp if the path of the socket would be too long for the
    kernel.
    """
    if len(os.fsencode(directory / name)) <= SOCKET_PATH_BYTES:
        return directory
    return Path("/tmp") / f"agentpods-{hashlib.sha256(os.fsencode(directory)).hexdigest()[:12]}"  # noqa: S108 # owner checked at start
