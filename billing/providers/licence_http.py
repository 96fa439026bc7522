"""HTTP calls to the providers of licences: rate limited, limited in time and size, with a JSON object as the answer."""

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
from config import answers
from config.errors import RateLimited, Unavailable

log = logging.getLogger(__name__)

CONNECT_SECONDS, SILENCE_SECONDS, LONGEST_SECONDS = 5, 10, 20
LARGEST_BYTES = 256 * 1024
BACK_OFF_SECONDS, LONGEST_BACK_OFF_SECONDS = 30, 600
FIRST_YEAR, LAST_YEAR = 2000, 2200
USER_AGENT = "agentpods/1.0"


class NoAnswer(Exception):
    """The provider's answer says nothing about the key: a time-out, 429, 5xx, or a body that cannot be understood."""


class AskedTooOften(Unavailable):
    """Our own rate limit stopped the call, or the provider asked us to wait. It says nothing about the key."""


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: Mapping[str, Any]


def ask(provider: str, url: str, fields: Mapping[str, str], *, per_minute: int) -> Reply:
    """POST a form. Raises NoAnswer, AskedTooOften."""
    headers = {"Accept": "application/json"}
    return send(provider, requests.Request("POST", url, headers=headers, data=dict(fields)), per_minute=per_minute)


def send(asked: str, request: requests.Request, *, per_minute: int) -> Reply:
    """Send a request, at most `per_minute` times under the name `asked`. Raises NoAnswer, AskedTooOften."""
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
    limit = Limit(name=f"ask-{provider}", times=per_minute, seconds=60, told=False)
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
    until = time.monotonic() + LONGEST_SECONDS
    body = _document(answers.body_of(answer, at_most=LARGEST_BYTES, until=until, refuse=NoAnswer))
    if answer.status_code >= requests.codes.server_error:
        _report(provider, answer.status_code, body)
        raise NoAnswer(f"HTTP {answer.status_code}")
    if not isinstance(body, dict):
        raise NoAnswer(f"HTTP {answer.status_code} without a JSON object")
    return Reply(answer.status_code, body)


def _report(provider: str, status: int, body: Any) -> None:
    """Log the message of a 5xx. A message is about our request, such as a wrong product id."""
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        note = {"provider": provider, "status": status, "answer": body["message"][:300]}
        log.error("a provider of licences refuses our requests: check its settings", extra=note)


def _document(body: bytes) -> Any:
    """The parsed JSON, or None if it is not JSON. Numbers become Decimal, so they are exact."""
    try:
        return json.loads(body, parse_float=Decimal)
    except (ValueError, RecursionError):
        return None


def _backing_off(provider: str) -> str:
    return f"licence-back-off:{provider}"


def moment(value: object) -> datetime | None:
    """A time from JSON; None for null. Raises NoAnswer if it is not a time."""
    if value is None:
        return None
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError as error:
        raise NoAnswer(f"{str(value)[:40]!r} is no time") from error
    if not FIRST_YEAR <= found.year <= LAST_YEAR:
        raise NoAnswer(f"{found.year} is no year of ours")
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
