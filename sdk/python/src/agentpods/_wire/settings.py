"""What a client is made with, checked before the first call."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

import httpx

BASE_URL = "http://127.0.0.1:8000"
TIMEOUT = 150.0  # seconds; a turn and a test of a webhook may take two minutes
_KEY = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Where the service is, who calls, and how patient the caller is. The key is not shown."""

    base_url: str
    api_key: str = field(repr=False)
    timeout: float
    max_retries: int

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}


def settings(base_url: str | None, api_key: str | None, *, timeout: float, max_retries: int) -> ClientSettings:
    """What is not given comes from AGENTPODS_URL and AGENTPODS_API_KEY. Raises ValueError, without the key."""
    url = (base_url or os.environ.get("AGENTPODS_URL") or BASE_URL).rstrip("/")
    key = (os.environ.get("AGENTPODS_API_KEY", "") if api_key is None else api_key).strip()
    parts = _parts(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("base_url: must be an http:// or https:// address")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("base_url: has a credential, a query or a fragment; give the address alone")
    if key and not _KEY.fullmatch(key):
        raise ValueError("api_key: has characters that no key has; copy it again")
    return ClientSettings(url, key, timeout, max_retries)


def _parts(url: str) -> SplitResult:
    try:
        httpx.URL(url)
        parts = urlsplit(url)
        _ = parts.port  # raises for a port that is no port
    except (ValueError, httpx.InvalidURL):
        raise ValueError("base_url: must be an http:// or https:// address") from None
    return parts
