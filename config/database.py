"""DATABASE_URL as Django's DATABASES entry: one limited, health-checked pool per process, with server-side binding."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured
from psycopg.errors import LockNotAvailable

POOL_TIMEOUT_SECONDS = 10
LOCK_TIMEOUT_MS = 10_000
# A connection to a silent server, or over a network that drops packets, ends within a minute; the kernel alone would
# wait for hours. Options of the URL override these. Sockets of this machine ignore the TCP options.
PATIENCE = {
    "connect_timeout": "5",
    "keepalives_idle": "20",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "50000",
}


def parse(url: str, *, pool_size: int) -> dict[str, Any]:
    """Django's settings for a `postgresql://` URL. Raises ImproperlyConfigured for any other scheme."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured("DATABASE_URL: only postgresql:// is supported")
    options = dict(parse_qsl(parts.query))
    host = options.pop("host", "") or unquote(parts.hostname or "")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "agentpods",
        "USER": unquote(parts.username or "postgres"),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            **PATIENCE,
            **options,
            "pool": {"min_size": 1, "max_size": pool_size, "timeout": POOL_TIMEOUT_SECONDS},
            "server_side_binding": True,
            "prepare_threshold": 3,
            "options": f"-c lock_timeout={LOCK_TIMEOUT_MS}",
        },
    }


def waited_too_long(error: Exception) -> bool:
    """Whether a database error means that others kept a row locked for LOCK_TIMEOUT_MS."""
    return isinstance(error.__cause__, LockNotAvailable)


def is_outage(error: Exception) -> bool:
    """Whether a database error means that the server is down or full, and not that the query was wrong."""
    from django.db import InterfaceError, OperationalError  # noqa: PLC0415
    from psycopg_pool import PoolTimeout  # noqa: PLC0415

    return isinstance(error, OperationalError | InterfaceError | PoolTimeout)
