"""How providers of licences are asked: a form out, a small JSON object back, seldom enough, or no answer at all."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import requests
from django.core.cache import cache

from accounts import throttling
from accounts.throttling import Limit
from config.errors import RateLimited, Unavailable

log = logging.getLogger(__name__)

CONNECT_SECONDS, SILENCE_SECONDS, LONGEST_SECONDS = 5, 10, 20
LARGEST_BYTES = 256 * 1024
CHUNK_BYTES = 16 * 1024
BACK_OFF_SECONDS, LONGEST_BACK_OFF_SECONDS = 30, 600
FIRST_YEAR, LAST_YEAR = 2000, 2200
USER_AGENT = "agentpods/1.0"


class NoAnswer(Exception):  # as the rule says it
    """Nothing that tells anything of the key: a time-out, 429, 5xx, or a body that makes no sense."""


class AskedTooOften(Unavailable):
    """We keep to the provider's rate ourselves, so this says nothing of the provider or the key."""


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: Mapping[str, Any]


def ask(provider: str, url: str, fields: Mapping[str, str], *, per_minute: int) -> Reply:
    """POST a form. Raises NoAnswer, AskedTooOften."""
    headers = {"Accept": "application/json"}
    return send(provider, requests.Request("POST", url, headers=headers, data=dict(fields)), per_minute=per_minute)


def send(asked: str, request: requests.Request, *, per_minute: int) -> Reply:
    """Any request, at most `per_minute` of those `asked` the same way. Raises NoAnswer, AskedTooOften."""
    _take_turn(asked, per_minute)
    try:
        with requests.Session() as session:
            session.trust_env = False
            session.headers["User-Agent"] = USER_AGENT
            answer = session.send(
                session.prepare_request(request),
                timeout=(CONNECT_SECONDS, SILENCE_SECONDS),
                allow_redirects=False,
                stream=True,
            )
            return _read(asked, answer)
    except requests.RequestException as error:
        raise NoAnswer(type(error).__name__) from error


def _take_turn(provider: str, per_minute: int) -> None:
    if cache.get(_backing_off(provider)):
        raise AskedTooOften(f"{provider} asked us to wait: try again soon", retry_after=BACK_OFF_SECONDS)
    limit = Limit(name=f"ask-{provider}", times=per_minute, seconds=60)
    try:
        throttling.spend(limit, by="all", now=datetime.now(UTC))
    except RateLimited as error:
        wait = int(error.headers["Retry-After"])
        raise AskedTooOften(f"{provider} is asked too often: try again in {wait} s", retry_after=wait) from error


def _read(provider: str, answer: requests.Response) -> Reply:
    if answer.status_code == requests.codes.too_many_requests:
        wait = answer.headers.get("Retry-After", "")[:9]
        seconds = min(int(wait), LONGEST_BACK_OFF_SECONDS) if wait.isdecimal() else BACK_OFF_SECONDS
        cache.set(_backing_off(provider), 1, timeout=max(1, seconds))
        raise NoAnswer("HTTP 429")
    body = _document(_bounded(answer))
    if answer.status_code >= requests.codes.server_error:
        _report(provider, answer.status_code, body)
        raise NoAnswer(f"HTTP {answer.status_code}")
    if not isinstance(body, dict):
        raise NoAnswer(f"HTTP {answer.status_code} without a JSON object")
    return Reply(answer.status_code, body)


def _report(provider: str, status: int, body: Any) -> None:
    """A sentence with a 5xx is about our request, such as a product id that is missing (facts: billing 1.1)."""
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        note = {"provider": provider, "status": status, "answer": body["message"][:300]}
        log.error("a provider of licences refuses how we ask: check its settings", extra=note)


def _bounded(answer: requests.Response) -> bytes:
    """Counted after decompression, and given up when it trickles."""
    deadline = time.monotonic() + LONGEST_SECONDS
    body = bytearray()
    for chunk in answer.iter_content(CHUNK_BYTES):
        body += chunk
        if len(body) > LARGEST_BYTES:
            raise NoAnswer(f"more than {LARGEST_BYTES} bytes")
        if time.monotonic() > deadline:
            raise NoAnswer(f"not within {LONGEST_SECONDS} s")
    return bytes(body)


def _document(body: bytes) -> Any:
    """None for what is no JSON. Numbers as they are written, never by way of a float."""
    try:
        return json.loads(body, parse_float=Decimal)
    except (ValueError, RecursionError):
        return None


def _backing_off(provider: str) -> str:
    return f"licence-back-off:{provider}"


def moment(value: object) -> datetime | None:
    """A time as JSON has it. Raises NoAnswer for what is none; null is None."""
    if value is None:
        return None
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError as error:
        raise NoAnswer(f"{str(value)[:40]!r} is no time") from error
    if not FIRST_YEAR <= found.year <= LAST_YEAR:
        raise NoAnswer(f"{found.year} is no year of ours")
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
