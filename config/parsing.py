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
            for path, problem in _unstorable(parsed, ""):
                raise ParseError(f"{path or 'body'}: {problem}")
        except (UnicodeDecodeError, ValueError) as error:
            raise ParseError(f"body: not valid JSON ({error})") from error
        except RecursionError as error:
            raise ParseError("body: nested too deeply") from error
        return parsed


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _unstorable(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """The places of NUL characters and unpaired surrogates, which no text column can hold."""
    match value:
        case str():
            if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
                yield path, "text may not contain NUL or unpaired surrogates"
        case dict():
            for key, inner in value.items():
                yield from _unstorable(key, path)
                yield from _unstorable(inner, f"{path}.{key}" if path else key)
        case list():
            for index, inner in enumerate(value):
                yield from _unstorable(inner, f"{path}[{index}]")
