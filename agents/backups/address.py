"""The address of the endpoint: BACKUP_URL, or on this machine the port that the endpoint has written down."""

from __future__ import annotations

import os
from pathlib import Path

from django.conf import settings


def _note() -> Path:
    return Path(settings.AGENTPODS_HOME) / "run" / "backup-port"


def announce(port: int) -> None:
    """Write down that the endpoint listens on this port."""
    _note().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = _note().with_suffix(f".{os.getpid()}")
    fresh.write_text(str(port), encoding="utf-8")
    fresh.replace(_note())


def url() -> str | None:
    """The endpoint's address. None when no endpoint is known yet."""
    if settings.BACKUP_URL:
        return str(settings.BACKUP_URL)
    if settings.BACKUP_PORT:
        return f"http://127.0.0.1:{settings.BACKUP_PORT}"
    try:
        return f"http://127.0.0.1:{int(_note().read_text(encoding='utf-8'))}"
    except (OSError, ValueError):
        return None
