"""The API's only parser: JSON as RFC 8259 has it, at most 1 MiB, and nothing PostgreSQL could not store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import IO, Any, NoReturn

from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import BaseParser

MAX_BODY_BYTES = 1_048_576


class BodyTooLarge(APIException):
    status_code = 413
    default_detail = f"body: larger than {MAX_BODY_BYTES} bytes"


class StrictJSONParser(BaseParser):
    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        raw = stream.read(MAX_BODY_BYTES + 1)
        if len(raw) > MAX_BODY_BYTES:
            raise BodyTooLarge
        try:
            parsed = json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant)
            for path, problem in _unstorable(parsed):
                raise ParseError(f"{path.removeprefix('.') or 'body'}: {problem}")
        except (UnicodeDecodeError, ValueError) as error:
            raise ParseError(f"body: not valid JSON ({error})") from error
        except RecursionError as error:
            raise ParseError("body: nested too deeply") from error
        return parsed


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _unstorable(value: Any) -> Iterator[tuple[str, str]]:
    """The places of NUL characters and unpaired surrogates, which no text column can hold.

    A path is put together on the way back from a find: made on the way down, the paths of a deep body with long keys
    would take hundreds of times its size.
    """
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
            yield "", "text may not contain NUL or unpaired surrogates"
        return
    for step, part in _parts(value):
        for path, problem in _unstorable(part):
            yield f"{step}{path}", problem


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What an object or array is made of, each with its step in a path; a key stands where its object stands."""
    match value:
        case dict():
            for key, inner in value.items():
                yield "", key
                yield f".{key}", inner
        case list():
            for index, inner in enumerate(value):
                yield f"[{index}]", inner
