"""What an engine sends to a model: passed on as it comes in, and only whole once it was judged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from aiohttp import web

from agents.pod.gateway.answers import Refusal
from agents.pod.gateway.llm.model_rule import BodyRule, check_names

# What the largest of the vendors take, with pictures in it.
LIMIT_BYTES = 32 * 1024 * 1024
# A body up to this size is judged before the provider is called. A larger one begins to go out before it has come in
# whole; if it is refused then, its end is never sent, so that the provider gets no request to answer.
FIRST_BYTES = 256 * 1024
FIRST_SECONDS = 30.0

Body = bytes | AsyncIterator[bytes] | None


async def admit(request: web.Request, allowed_model: str | None, *, must_name: bool) -> tuple[Body, dict[str, str]]:
    """The body as it goes out, and the headers that belong to it. Never held whole when it is large."""
    if request.method != "POST":
        return None, {}
    if not request.can_read_body:
        check_names(None, None, allowed=allowed_model, must_name=must_name)
        return None, {}
    _check_type(request)
    if (request.content_length or 0) > LIMIT_BYTES:
        raise _too_large()
    rule, pieces = BodyRule(allowed_model, must_name=must_name), request.content.iter_any()
    try:
        async with asyncio.timeout(FIRST_SECONDS):
            first, is_all = await _first(pieces, rule)
    except TimeoutError as error:
        raise Refusal(408, "body: came too slowly") from error
    return (first, {}) if is_all else (_judged(first, pieces, rule), length_of(request))


async def _first(pieces: AsyncIterator[bytes], rule: BodyRule) -> tuple[bytes, bool]:
    """The beginning, and whether it is all."""
    first = bytearray()
    async for piece in pieces:
        rule.feed(piece)
        first += piece
        if len(first) > FIRST_BYTES:
            return bytes(first), False
    rule.finish()
    return bytes(first), True


async def _judged(first: bytes, rest: AsyncIterator[bytes], rule: BodyRule) -> AsyncIterator[bytes]:
    """One piece behind what was judged: the last piece goes out when all was."""
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
    """The provider must read the same bytes as the same text."""
    if not request.content_type.endswith("json") or (request.charset or "utf-8").lower() != "utf-8":
        raise Refusal(415, "Content-Type: must be application/json, in UTF-8")


def length_of(request: web.Request) -> dict[str, str]:
    """Of a packed body nobody knows the length: our server unpacks it."""
    packed = request.headers.get("Content-Encoding", "identity").lower() != "identity"
    return {} if packed or request.content_length is None else {"Content-Length": str(request.content_length)}


def _too_large() -> Refusal:
    return Refusal(413, f"body: at most {LIMIT_BYTES} bytes")
