"""The answers to the engine, and later to the owner, when a model call fails. They never contain the key or a page of
HTML.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import web

from agents.pod.gateway.answers import Refusal
from agents.pod.gateway.llm import headers
from agents.pod.masking import StreamMask, mask_text

ERROR_BYTES = 64 * 1024
MESSAGE_LENGTH = 300


@dataclass(frozen=True, slots=True)
class RefusedCall:
    response: web.Response
    message: str


# Statuses of a server that does not know the path or the method.
_NO_SUCH_CALL = {404, 405, 501}


async def read(
    answer: aiohttp.ClientResponse, *, provider: str, key: str, is_own_server: bool = False, key_is: str = "model key"
) -> RefusedCall:
    """Turn the provider's refusal into a text for people and an answer for the engine."""
    if answer.status < 400:
        message = f"{provider} answered with a redirect ({answer.status}), which is not followed"
        return RefusedCall(_response(502, message), message)
    raw = await _beginning(answer, key)
    said = mask_text(_said(raw), [key])[:MESSAGE_LENGTH]
    if answer.status in {401, 403}:
        # On a 401, some engines stop using a provider for a minute or try again for a minute. So they get a plain 400.
        message = _sentence(f"{provider} refused the {key_is} ({answer.status})", said)
        return RefusedCall(_response(400, message), message)
    message = _sentence(f"{provider} answered {answer.status}", said)
    if is_own_server and answer.status in _NO_SUCH_CALL:
        message += f"; the operator's server for {provider} must take {answer.method} {answer.url.path}"
    return RefusedCall(_same_answer(answer, raw, key), message)


def unreachable(provider: str, error: Exception) -> Refusal:
    if isinstance(error, TimeoutError):
        return Refusal(504, f"{provider} did not answer in time")
    if isinstance(error, aiohttp.ClientConnectorError):
        return Refusal(502, f"{provider} cannot be reached")
    return Refusal(502, f"{provider} broke off its answer")


def refused(_: web.Request, refusal: Refusal) -> web.Response:
    """Render the proxy's own refusals in a form that the clients of all four protocols understand."""
    return _response(refusal.status, refusal.message, refusal.headers)


def _response(status: int, message: str, given: Mapping[str, str] | None = None) -> web.Response:
    error = {"message": message, "type": "agentpods_gateway", "code": status}
    return web.json_response({"type": "error", "error": error}, status=status, headers=given)


def _same_answer(answer: aiohttp.ClientResponse, raw: bytes, key: str) -> web.Response:
    return web.Response(status=answer.status, headers=headers.incoming(answer.headers, key=key), body=raw)


async def _beginning(answer: aiohttp.ClientResponse, key: str) -> bytes:
    """The beginning of the answer. It is masked before it is cut: a cut inside the key would hide the key from the
    mask.
    """
    mask, seen = StreamMask([key]), bytearray()
    async for chunk in answer.content.iter_any():
        seen += mask.feed(chunk)
        if len(seen) >= ERROR_BYTES:
            return bytes(seen[:ERROR_BYTES])
    return bytes(seen + mask.finish())


def _said(raw: bytes) -> str:
    """The vendor's own message, found at any of its usual places in a JSON body."""
    try:
        found: Any = json.loads(raw)
    except (ValueError, RecursionError):
        return ""
    if isinstance(found, list) and found:
        found = found[0]
    for name in ("detail", "error", "message"):
        if isinstance(found, dict) and name in found:
            found = found[name]
    return " ".join(found.split()) if isinstance(found, str) else ""


def _sentence(what: str, said: str) -> str:
    return f"{what}: {said}" if said else what
