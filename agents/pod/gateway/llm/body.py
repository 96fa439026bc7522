"""Passes the body of a model call on while it arrives, but sends the last piece only after the whole
body was checked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from aiohttp import web

from agents.pod.gateway.answers import Refusal
from agents.pod.gateway.llm.model_rule import BodyRule, check_names

# The largest body that vendors accept, including pictures.
LIMIT_BYTES = 32 * 1024 * 1024
# A body up to this size is checked before the provider is called. A larger body is sent while it still arrives. If it
# is refused then, its end is never sent, so the provider gets no complete request and does not answer.
FIRST_BYTES = 256 * 1024
FIRST_SECONDS = 30.0

Body = bytes | AsyncIterator[bytes] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmittedBody:
    """The body to send, the headers that belong to it, and what is known of it before it is sent."""

    data: Body = None
    headers: dict[str, str] = field(default_factory=dict)
    size: int = 0  # as far as it is known
    most_output: int | None = None  # the tokens that the call allows for its answer, if it says so in time


async def admit(request: web.Request, allowed_model: str | None, *, must_name: bool) -> AdmittedBody:
    """Check the body. A large body is never held in memory as a whole. Raises Refusal."""
    if request.method != "POST":
        return AdmittedBody()
    if not request.can_read_body:
        check_names(None, None, allowed=allowed_model, must_name=must_name)
        return AdmittedBody()
    _check_type(request)
    if (request.content_length or 0) > LIMIT_BYTES:
        raise _too_large()
    rule, pieces = BodyRule(allowed_model, must_name=must_name), request.content.iter_any()
    try:
        async with asyncio.timeout(FIRST_SECONDS):
            first, is_all = await _first(pieces, rule)
    except TimeoutError as error:
        raise Refusal(408, "body: came too slowly") from error
    if is_all:
        return AdmittedBody(data=first, size=len(first), most_output=rule.most_output)
    size = max(len(first), request.content_length or 0)
    return AdmittedBody(data=_judged(first, pieces, rule), headers=length_of(request), size=size)


async def _first(pieces: AsyncIterator[bytes], rule: BodyRule) -> tuple[bytes, bool]:
    """The beginning of the body, and whether it is the whole body."""
    first = bytearray()
    async for piece in pieces:
        rule.feed(piece)
        first += piece
        if len(first) > FIRST_BYTES:
            return bytes(first), False
    rule.finish()
    return bytes(first), True


async def _judged(first: bytes, rest: AsyncIterator[bytes], rule: BodyRule) -> AsyncIterator[bytes]:
    """Yield the body one piece late, so that the last piece is sent only after everything was checked."""
    held, size = first, len(first)
    async for piece in rest:
        size += len(piece)
        if size > LIMIT_BYTES:
            raise _too_large()
        rule.feed(piece)
        yield held
        held = piece
    rule.finish()
    yield held


def _check_type(request: web.Request) -> None:
    """Refuse other types: the provider must read the same text from the same bytes."""
    if not request.content_type.endswith("json") or (request.charset or "utf-8").lower() != "utf-8":
        raise Refusal(415, "Content-Type: must be application/json, in UTF-8")


def length_of(request: web.Request) -> dict[str, str]:
    """The Content-Length header. A compressed body has none, because the HTTP server unpacks it and its length is not
    known before.
    """
    packed = request.headers.get("Content-Encoding", "identity").lower() != "identity"
    return {} if packed or request.content_length is None else {"Content-Length": str(request.content_length)}


def _too_large() -> Refusal:
    return Refusal(413, f"body: at most {LIMIT_BYTES} bytes")
