"""The API's only parser: JSON of RFC 8259, of limited size and depth, without text that PostgreSQL cannot store."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import chain
from typing import IO, Any

import orjson
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import BaseParser

MAX_BODY_BYTES = 1_048_576  # of any body; most endpoints allow less
USUAL_BODY_BYTES = 65_536  # unless the view allows more: `max_body_bytes` (config.api.ApiViewSet)
MAX_DEPTH = 64  # of nested objects and arrays
TOO_DEEP = f"nested too deeply: more than {MAX_DEPTH} levels of objects and arrays"

# Matches each escape as a whole, so that none is read from its middle. The group is a surrogate without its other half.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)


def room_for(*, characters: int = 0, utf8_bytes: int = 0) -> int:
    """The largest body in bytes with so much text: JSON may escape each character, and some characters twice."""
    needed = USUAL_BODY_BYTES + 12 * characters + 6 * utf8_bytes
    return min(MAX_BODY_BYTES, math.ceil(needed / 1024) * 1024)


class BodyTooLarge(APIException):
    status_code = 413

    def __init__(self, at_most: int) -> None:
        super().__init__(f"body: larger than {at_most} bytes")


class BadText(ValueError):
    """Text that is not JSON or that cannot be stored; `place` is the path of the wrong value, if there is one."""

    def __init__(self, problem: str, *, place: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.place = place


class StrictJSONParser(BaseParser):
    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        raw = bounded(stream, parser_context)
        try:
            return strict_json(raw.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise ParseError(f"body: not valid JSON ({error})") from error
        except BadText as refusal:
            raise ParseError(f"{refusal.place or 'body'}: {refusal.problem}") from refusal


class Signed(BaseParser):
    """Gives the body as raw bytes: its signature is computed over them."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, bytes]:
        return {"signed": bounded(stream, parser_context)}


def signed_body(data: Any) -> bytes:
    """The bytes that `Signed` read. Empty for a request without a body: no parser is called for it."""
    found: bytes = data.get("signed", b"")
    return found


def bounded(stream: IO[Any], parser_context: Mapping[str, Any] | None) -> bytes:
    """The body in bytes. Raises BodyTooLarge, before parsing, if it is larger than the view allows."""
    at_most: int = getattr((parser_context or {}).get("view"), "max_body_bytes", MAX_BODY_BYTES)
    raw: bytes = stream.read(at_most + 1)
    if len(raw) > at_most:
        raise BodyTooLarge(at_most)
    return raw


def strict_json(text: str) -> Any:
    """Parse a JSON document whose values can be stored. Raises Refused."""
    text = _without_halves(text)
    try:
        parsed = orjson.loads(text)
    except ValueError as error:
        raise BadText(TOO_DEEP if "depth limit" in str(error) else f"not valid JSON ({error})") from error
    if _is_deeper(parsed, MAX_DEPTH):
        raise BadText(TOO_DEEP)
    if "\\u0000" in text and (place := _nul_in(parsed)) is not None:  # a raw NUL is not valid JSON
        raise BadText("text may not contain NUL or unpaired surrogates", place=place.removeprefix("."))
    return parsed


def _without_halves(text: str) -> str:
    """The same document with NUL for each unpaired surrogate: orjson cannot read those, and both are refused."""
    if "\\ud" not in text and "\\uD" not in text:
        return text
    return _ESCAPE.sub(lambda escape: "\\u0000" if escape[1] else escape[0], text)


def _is_deeper(document: Any, levels: int) -> bool:
    """Whether the document has more levels of objects and arrays.

    A loop, so that Python's recursion limit does not matter.
    """
    level = [document] if isinstance(document, dict | list) else []
    for _ in range(levels):
        if not level:
            return False
        inside = chain.from_iterable(part.values() if isinstance(part, dict) else part for part in level)
        level = [part for part in inside if isinstance(part, dict | list)]
    return bool(level)


def _nul_in(value: Any) -> str | None:
    """The path of a text with a NUL character, which no column can store. For a key: the path of its object. None if
    there is none.

    The value has at most `MAX_DEPTH` levels. The path is built after a find, on the way back: paths of a deep body with
    long keys, built on the way down, would be many times larger than the body.
    """
    if isinstance(value, str):
        return "" if "\0" in value else None
    if isinstance(value, dict) and any("\0" in key for key in value):
        return ""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, part in parts:
        if (path := _nul_in(part)) is not None:
            return f"[{step}]{path}" if isinstance(value, list) else f".{step}{path}"
    return None
