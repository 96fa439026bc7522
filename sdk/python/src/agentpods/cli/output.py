"""What the command prints: lines for people, or one JSON object a line. Errors go to the standard error."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import typer

from agentpods.errors import UnexpectedAnswerError

HIDDEN = "[hidden]"
SECRET_MAPS = {"env", "headers"}  # of MCP servers: every value may be a credential
SECRETS = {"dashPassword", "a2aToken", "licenseKey", "secret", "webhookSecret"}
# What would move the cursor, change colours or turn text around. An agent's words and log lines are a stranger's.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: object) -> str:
    """The text without anything that a terminal would obey."""
    return _UNSAFE.sub("\ufffd", str(text).replace("\r\n", "\n"))


def cell(value: object) -> str:
    """A value as a cell of a line. It ends neither the cell nor the line, so no text makes rows of its own."""
    return "-" if value is None else plain(value).replace("\t", " ").replace("\n", " ")


def without_secrets(value: Any) -> Any:
    """The same value with its secrets hidden, at any depth."""
    if isinstance(value, Mapping):
        return {key: _hidden(key, one) for key, one in value.items()}
    if isinstance(value, list):
        return [without_secrets(one) for one in value]
    return value


def _hidden(key: str, value: Any) -> Any:
    if key in SECRETS and value:
        return HIDDEN
    if key in SECRET_MAPS and isinstance(value, Mapping):
        return dict.fromkeys(value, HIDDEN)
    return without_secrets(value)


class Output:
    """Shows rows and texts, as JSON or for people."""

    def __init__(self, *, as_json: bool, show_secrets: bool = False) -> None:
        self.as_json, self._show_secrets = as_json, show_secrets

    def row(self, row: Mapping[str, Any], *fields: str) -> None:
        """One object: whole as JSON, and these fields of it for people (all, one a line, where none is named)."""
        if not isinstance(row, Mapping):
            raise UnexpectedAnswerError("the answer has something else than an object: is the address right?")
        shown = row if self._show_secrets else without_secrets(row)
        if self.as_json:
            self.line(json.dumps(shown))
        elif fields:
            self.line("\t".join(cell(shown.get(field)) for field in fields))
        else:
            self._whole(shown)

    def rows(self, rows: Iterable[Mapping[str, Any]], *fields: str) -> None:
        for row in rows:
            self.row(row, *fields)

    def event(self, **fields: Any) -> None:
        """An object of a stream. Only for programs."""
        if self.as_json:
            self.line(json.dumps(fields))

    def text(self, text: object, *, end: str = "\n") -> None:
        """Words for people only."""
        if not self.as_json:
            sys.stdout.write(plain(text) + end)
            sys.stdout.flush()

    def note(self, text: object) -> None:
        """Beside the output, for people."""
        if not self.as_json:
            typer.echo(plain(text), err=True)

    def failed(self, message: str, **fields: Any) -> None:
        told = {"error": "CLIENT", "message": message, **{name: one for name, one in fields.items() if one is not None}}
        typer.echo(json.dumps(told) if self.as_json else f"agentpods: {plain(message)}", err=True)

    def line(self, line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def _whole(self, row: Mapping[str, Any]) -> None:
        width = max(map(len, row), default=0)
        for name, value in row.items():
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            self.line(f"{plain(name):{width}}  {plain(shown)}")
