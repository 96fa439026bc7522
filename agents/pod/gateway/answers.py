"""Helpers for the answers of all listeners: errors as `{error, message}`, and bodies that are read with limits and
checked by hand.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web
from aiohttp.typedefs import Middleware

BODY_BYTES = 1024 * 1024
BODY_SECONDS = 30.0
FIELDS = 16  # the most fields of a form
_CODES = {
    400: "BAD_REQUEST",
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    409: "CONFLICT",
    429: "RATE_LIMITED",
}
log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Refusal(Exception):
    """A request that is refused. The listener's middleware turns this exception into the answer."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def error_body(status: int, message: str) -> dict[str, str]:
    code = _CODES.get(status, "BAD_REQUEST" if status < 500 else "INTERNAL")
    return {"error": code, "message": message}


def error_json(_: web.Request, refusal: Refusal) -> web.Response:
    return web.json_response(
        error_body(refusal.status, refusal.message), status=refusal.status, headers=refusal.headers
    )


def refusal_of(error: Exception) -> Refusal:
    """The answer for any exception. For an unexpected exception the caller learns only that it happened."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, web.HTTPException):
        allow = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
        return Refusal(error.status, error.reason, **allow)
    if isinstance(error, web.RequestPayloadError):
        return Refusal(400, "body: broken off, or not packed as its Content-Encoding says")
    log.error("unexpected %s", type(error).__name__, exc_info=error)
    return Refusal(500, "unexpected error in the gateway")


def errors(render: Callable[[web.Request, Refusal], web.Response]) -> Middleware:
    """A middleware that renders every exception as an answer. If the answer has already begun, the connection breaks
    off instead.
    """

    @web.middleware
    async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except Exception as error:
            if request.writer.output_size > 0:
                raise
            return render(request, refusal_of(error))

    return answer_errors


def same_secret(shown: str, real: str) -> bool:
    """Compare in constant time. A header may contain bytes that are not text, and JSON may contain half of a surrogate
    pair.
    """
    return hmac.compare_digest(shown.encode("utf-8", "surrogatepass"), real.encode())


async def read_json(request: web.Request) -> dict[str, Any]:
    """The JSON object in the body. Raises Refusal: 400 for anything else, 413 beyond BODY_BYTES."""
    if request.content_type != "application/json":
        raise Refusal(400, "Content-Type: must be application/json")
    raw = await read_body(request, BODY_BYTES)
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "body: not valid JSON") from error
    if not isinstance(body, dict):
        raise Refusal(400, "body: must be a JSON object")
    return body


async def read_form(request: web.Request, limit: int) -> dict[str, str]:
    """The form fields of the body; of a repeated field the first value counts. Raises Refusal (400) for
    anything else.
    """
    if request.content_type != "application/x-www-form-urlencoded":
        raise Refusal(400, "Content-Type: must be application/x-www-form-urlencoded")
    raw = await read_body(request, limit)
    try:
        fields = parse_qsl(raw.decode("utf-8", "replace"), max_num_fields=FIELDS)
    except ValueError as error:
        raise Refusal(400, f"body: at most {FIELDS} fields") from error
    return dict(reversed(fields))


async def read_body(request: web.Request, limit: int, *, seconds: float = BODY_SECONDS) -> bytes:
    """The whole body. Raises Refusal: 413 beyond `limit` bytes, 408 if the body takes longer than `seconds`."""
    if (request.content_length or 0) > limit:
        raise Refusal(413, f"body: at most {limit} bytes")
    raw = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.content.iter_any():
                raw += chunk
                if len(raw) > limit:
                    raise Refusal(413, f"body: at most {limit} bytes")
    except TimeoutError as error:
        raise Refusal(408, f"body: it must come within {seconds:.0f} s") from error
    return bytes(raw)
