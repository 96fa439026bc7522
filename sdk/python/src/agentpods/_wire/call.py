"""A call and its reply, before and after the network."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from agentpods.errors import UnexpectedAnswerError

IDEMPOTENCY_KEY = "Idempotency-Key"
_REPEATABLE = {"GET", "PUT", "DELETE"}
_WORD = re.compile(r"[\x21-\x7e]+")


def in_path(value: str) -> str:
    """A value as one part of a path. `.` and `..` would lead to another path, and nothing is no part."""
    if value in {"", ".", ".."}:
        raise ValueError(f"{value!r} is no id")
    return quote(value, safe="")


def checked(part: str, *, begins: str = "") -> str:
    """A method or a path that somebody typed. Raises ValueError for what would lead to another host."""
    if not _WORD.fullmatch(part) or not part.startswith(begins):
        raise ValueError(f"{part[:40]!r} must be one word of ASCII" + (f" that begins with {begins}" if begins else ""))
    return part


def refuse_constant(name: str) -> None:
    """NaN and Infinity are no JSON, although Python reads and writes them."""
    raise ValueError(f"{name} is no JSON")


def new_key() -> str:
    """A key that makes a call safe to repeat."""
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One call of the API. Values of `query` and `headers` that are None are left out."""

    method: str
    path: str
    query: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str | None] = field(default_factory=dict)
    body: object = None

    @property
    def is_repeatable(self) -> bool:
        """Whether the same call may be sent again although an earlier one may have been done."""
        return self.method in _REPEATABLE or self.headers.get(IDEMPOTENCY_KEY) is not None

    @property
    def url_query(self) -> dict[str, str]:
        return {name: _in_query(value) for name, value in self.query.items() if value is not None}

    @property
    def given_headers(self) -> dict[str, str]:
        return {name: value for name, value in self.headers.items() if value is not None}


def _in_query(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class ApiReply:
    """A whole answer. The names of `headers` are lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> Any:
        """The JSON of the answer, or None."""
        try:
            return json.loads(self.content, parse_constant=refuse_constant)
        except (ValueError, RecursionError):
            return None

    def body(self) -> Any:
        """The JSON object of the answer. Raises UnexpectedAnswerError."""
        told = self.json()
        if not isinstance(told, dict):
            raise UnexpectedAnswerError(f"the answer (status {self.status}) is no JSON object: is the address right?")
        return told

    @property
    def next_cursor(self) -> str | None:
        """The cursor of the next page. Only the cursor is read: the link may name another host."""
        for link in self.headers.get("link", "").split(","):
            address, _, rest = link.partition(">")
            if 'rel="next"' in rest:
                query = urlsplit(address.strip().removeprefix("<")).query
                return next(iter(parse_qs(query).get("cursor", [])), None)
        return None
