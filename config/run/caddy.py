"""The Caddy server in front of web and router, where TLS=auto. It gets certificates and takes all connections from
outside.

Each name gets its certificate at its first handshake, after the router has allowed it
(agents/router/certificate_check.py). Caddy tells web and router the visitor's address. It drops an
`X-Forwarded-For` header that the visitor sent.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

from config import settings

Json = dict[str, Any]

GRACE_SECONDS = 2
HEADER_SECONDS = 15
HEADER_BYTES = 32_768
IDLE_SECONDS = 120
DIAL_SECONDS = 5  # how long visitors wait while web or router restarts
AWAY = json.dumps({"error": "INTERNAL", "message": "the service is being started again: try again"})


def configuration_file(home: Path) -> Path:
    return home / "run" / "caddy.json"


def token() -> str:
    return secrets.token_urlsafe(32)


def configuration(home: Path, *, token: str) -> str:
    """Caddy's own format. Its admin interface is off, because no program uses it."""
    return json.dumps(
        {
            "admin": {"disabled": True, "config": {"persist": False}},
            "logging": {"logs": {"default": {"level": "WARN", "encoder": {"format": "console"}}}},
            "storage": {"module": "file_system", "root": str(home / "caddy")},
            "apps": {"http": _http(), "tls": _tls(token)},
        },
        indent=1,
    )


def _http() -> Json:
    return {
        "http_port": settings.HTTP_PORT,
        "https_port": settings.HTTPS_PORT,
        "grace_period": f"{GRACE_SECONDS}s",
        "servers": {"plain": _plain(), "visitors": _visitors()},
    }


def _server(port: int, **more: Any) -> Json:
    return {
        "listen": [f"{_address()}:{port}"],
        "protocols": ["h1", "h2"],
        "read_header_timeout": f"{HEADER_SECONDS}s",
        "idle_timeout": f"{IDLE_SECONDS}s",
        "max_header_bytes": HEADER_BYTES,
        "automatic_https": {"disable": True},  # it would order certificates before anybody visits a name
        **more,
    }


def _address() -> str:
    address = settings.TLS_ADDRESS
    return f"[{address}]" if ":" in address else address


def _plain() -> Json:
    """Redirects to HTTPS. The certificate authority's HTTP challenges are answered before this."""
    port = "" if settings.HTTPS_PORT == 443 else f":{settings.HTTPS_PORT}"
    there = {"Location": [f"https://{{http.request.host}}{port}{{http.request.uri}}"], "Connection": ["close"]}
    return _server(
        settings.HTTP_PORT, routes=[{"handle": [{"handler": "static_response", "status_code": 308, "headers": there}]}]
    )


def _visitors() -> Json:
    console = {
        "match": [{"host": sorted(settings.CONSOLE_HOSTS)}],
        "handle": [_passed_on(settings.PORT)],
        "terminal": True,
    }
    away = {
        "handler": "static_response",
        "status_code": 503,
        "headers": {"Content-Type": ["application/json"], "Retry-After": ["10"]},
        "body": AWAY,
    }
    return _server(
        settings.HTTPS_PORT,
        tls_connection_policies=[{}],
        # A browser cannot use a connection of one name for requests to another name.
        strict_sni_host=True,
        routes=[console, {"handle": [_passed_on(settings.ROUTER_PORT)]}],
        errors={"routes": [{"match": [{"expression": "{http.error.status_code} >= 500"}], "handle": [away]}]},
    )


def _passed_on(port: int) -> Json:
    """Pass requests and answers on piece by piece. Web, router and pods set the limits of time and size."""
    return {
        "handler": "reverse_proxy",
        "upstreams": [{"dial": f"127.0.0.1:{port}"}],
        "flush_interval": -1,
        "load_balancing": {"try_duration": f"{DIAL_SECONDS}s", "try_interval": "250ms"},
        "transport": {"protocol": "http", "dial_timeout": f"{DIAL_SECONDS}s"},
    }


def _tls(token: str) -> Json:
    issuer: Json = {"module": "acme", "ca": settings.ACME_DIRECTORY}
    if settings.ACME_EMAIL:
        issuer["email"] = settings.ACME_EMAIL
    if settings.ACME_ROOTS:
        issuer["trusted_roots_pem_files"] = [settings.ACME_ROOTS]
    ask = f"http://127.0.0.1:{settings.ASK_PORT}/{token}"
    return {
        "automation": {
            "on_demand": {"permission": {"module": "http", "endpoint": ask}},
            "policies": [{"on_demand": True, "issuers": [issuer]}],
        }
    }
