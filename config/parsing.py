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


class Refused(ValueError):
    """Text that is not JSON or cannot be stored; `place` is the path of the value at fault, if one is."""

    def __init__(self, problem: str, *, place: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.place = place


class StrictJSONParser(BaseParser):
    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        raw = stream.read(MAX_BODY_BYTES + 1)
        if len(raw) > MAX_BODY_BYTES:
            raise BodyTooLarge
        try:
            return strict_json(raw.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise ParseError(f"body: not valid JSON ({error})") from error
        except Refused as refusal:
            raise ParseError(f"{refusal.place or 'body'}: {refusal.problem}") from refusal


def strict_json(text: str) -> Any:
    """The value of a JSON document that can be stored. Raises Refused."""
    try:
        parsed = json.loads(text, parse_constant=_refuse_constant)
        found = next(_unstorable(parsed), None)
    except ValueError as error:
        raise Refused(f"not valid JSON ({error})") from error
    except RecursionError as error:
        raise Refused("nested too deeply") from error
    if found:
        path, problem = found
        raise Refused(problem, place=path.removeprefix("."))
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
