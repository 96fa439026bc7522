"""Calls to the provider, with limits of time and size. No redirects, no proxy from the environment."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import requests
from django.conf import settings
from requests.adapters import HTTPAdapter

from config import answers

CONNECT_SECONDS, SILENCE_SECONDS, TOTAL_SECONDS = 3, 5, 10
LARGEST_BYTES = 512 * 1024


class UnusableAnswer(requests.RequestException):
    """The provider's answer is too large, too slow, a redirect, or no JSON object."""


class BoundedAdapter(HTTPAdapter):
    """Reads each answer to its end within the limits, so that libraries which use `requests` need none of their own."""

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        if not is_safe(request.url or ""):
            raise UnusableAnswer("not https")
        until = time.monotonic() + TOTAL_SECONDS
        limits = {"timeout": (CONNECT_SECONDS, SILENCE_SECONDS), "stream": True}
        answer = super().send(request, *args, **{**kwargs, **limits})
        try:
            if answer.is_redirect:
                raise UnusableAnswer("a redirect")
            body = answers.body_of(answer, at_most=LARGEST_BYTES, until=until, refuse=UnusableAnswer)
            answer._content = body  # noqa: SLF001 # where `requests` itself keeps a body that was read
        finally:
            answer.close()
        return answer


def bound(session: requests.Session) -> None:
    session.trust_env = False
    for scheme in ("https://", "http://"):
        session.mount(scheme, BoundedAdapter())


def object_at(url: str, *, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The JSON object at this address. Raises RequestException."""
    with requests.Session() as session:
        bound(session)
        answer = session.get(url, headers=dict(headers or {}))
    try:
        found = json.loads(answer.content) if answer.status_code == requests.codes.ok else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UnusableAnswer(f"HTTP {answer.status_code} without a JSON object")
    return found


def is_safe(url: str) -> bool:
    """Whether the address is https. In development, a provider on this machine may have http."""
    local = ("http://127.0.0.1:", "http://localhost:", "http://[::1]:")
    return url.startswith("https://") or (settings.DEVELOPMENT and url.startswith(local))
