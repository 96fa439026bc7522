"""DATABASE_URL as Django's DATABASES entry: one bounded, health-checked pool per process, server-side binding."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

POOL_TIMEOUT_SECONDS = 10
LOCK_TIMEOUT_MS = 10_000
# A server that fell silent, or a network that swallows packets, is given up within a minute; the kernel would wait for
# hours. Words of the URL go before these. Sockets of this machine have no use for the second half and ignore it.
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
