"""The answer to anything that a view raises: `{error, message}`. The message names the field, what came and what is
allowed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import PermissionDenied, SuspiciousOperation, TooManyFieldsSent
from django.db import DatabaseError, InterfaceError
from django.http import Http404
from django.http.multipartparser import MultiPartParserError
from rest_framework import exceptions
from rest_framework.response import Response

from config.database import LOCK_TIMEOUT_MS, is_outage, waited_too_long
from config.errors import ErrorCode, ServiceError, Unavailable
from config.requests import request_id

log = logging.getLogger(__name__)

SHOWN_CHARACTERS = 100  # of a received value, in a message
MESSAGE_CHARACTERS = 1_000  # of a whole message, however long the names and values in it are

_CODES = {
    401: ErrorCode.UNAUTHORIZED,
    403: ErrorCode.FORBIDDEN,
    404: ErrorCode.NOT_FOUND,
    409: ErrorCode.CONFLICT,
    429: ErrorCode.RATE_LIMITED,
}
# Instead of the framework's words, which do not say what came. By the code of the framework's error.
_OWN_WORDS = {
    "required": "is missing, and this call needs it",
    "null": "came as null; give a value",
    "blank": "came blank; give a text",
    "empty": "came empty; give at least one",
}

_LOCKED = f"other calls have been changing the same thing for {LOCK_TIMEOUT_MS // 1000} s: try again"
_OF_DJANGO: dict[type[Exception], tuple[int, ErrorCode, str]] = {
    Http404: (404, ErrorCode.NOT_FOUND, "not found"),
    PermissionDenied: (403, ErrorCode.FORBIDDEN, "not allowed"),
    TooManyFieldsSent: (400, ErrorCode.BAD_REQUEST, "query or form: has more parameters than a request may have"),
    MultiPartParserError: (400, ErrorCode.BAD_REQUEST, "body: not a form that can be read"),
    SuspiciousOperation: (400, ErrorCode.BAD_REQUEST, "body: not a form that can be read"),
}


def exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """Turn any exception into the error body `{error, message}`."""
    match error:
        case ServiceError():
            return _answer(error.status, error.code, error.message, error.headers)
        case exceptions.ValidationError():
            return _answer(400, ErrorCode.BAD_REQUEST, first_problem(error.detail))
        case exceptions.UnsupportedMediaType():
            return _answer(415, ErrorCode.BAD_REQUEST, _wrong_type(context))
        case exceptions.Throttled():
            wait = str(max(1, round(getattr(error, "wait", None) or 1)))
            return _answer(
                429, ErrorCode.RATE_LIMITED, f"too many requests: try again in {wait} s", {"Retry-After": wait}
            )
        case exceptions.APIException():
            code = _CODES.get(
                error.status_code, ErrorCode.BAD_REQUEST if error.status_code < 500 else ErrorCode.INTERNAL
            )
            return _answer(error.status_code, code, str(error.detail))
        case Http404() | PermissionDenied() | MultiPartParserError() | SuspiciousOperation():
            return _answer(*_OF_DJANGO[next(kind for kind in _OF_DJANGO if isinstance(error, kind))])
        case DatabaseError() | InterfaceError() if is_outage(error):
            return exception_handler(_of_database(error), context)
    log.error("unhandled exception", exc_info=error)
    return _answer(500, ErrorCode.INTERNAL, f"something went wrong on our side; quote {request_id.get()}")


def _of_database(error: Exception) -> Unavailable:
    if waited_too_long(error):
        log.warning("a lock was not free in time", exc_info=error)
        return Unavailable(_LOCKED, retry_after=1)
    log.warning("database unavailable", exc_info=error)
    return Unavailable("the database is not available: try again")


def _answer(status: int, code: ErrorCode, message: str, headers: dict[str, str] | None = None) -> Response:
    if status == 401:
        headers = {"WWW-Authenticate": "Bearer", **(headers or {})}
    message = message if len(message) <= MESSAGE_CHARACTERS else f"{message[:MESSAGE_CHARACTERS]}…"
    return Response({"error": code.value, "message": message}, status=status, headers=headers)


def first_problem(detail: Any, path: str = "") -> str:
    """The path and message of the first invalid field, e.g. `tools.mcpServers[0].name: came blank; …`."""
    if isinstance(detail, Mapping):
        key, inner = next(iter(detail.items()))
        if key == "non_field_errors":
            return first_problem(inner, path)
        step = f"[{key}]" if isinstance(key, int) else (f".{key}" if path else str(key))
        return first_problem(inner, path + step)
    if isinstance(detail, list):
        index, inner = next((i, item) for i, item in enumerate(detail) if item)
        return first_problem(inner, f"{path}[{index}]" if isinstance(inner, Mapping) else path)
    return f"{path or 'body'}: {_OWN_WORDS.get(getattr(detail, 'code', ''), detail)}"


def shown(value: object) -> str:
    """A received value in a message: its beginning, in quotes."""
    text = str(value)
    return repr(text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…")


def _wrong_type(context: Mapping[str, Any]) -> str:
    came = getattr(context.get("request"), "content_type", "")
    allowed = dict.fromkeys(parser.media_type for parser in getattr(context.get("view"), "parser_classes", ()))
    return f"Content-Type: {shown(came)} is not taken here; allowed: {', '.join(allowed) or 'application/json'}"
