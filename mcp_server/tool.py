"""A tool: which call of the API it makes, which arguments it takes, and which part of the answer it shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from config.preferences import MAX_WAIT_SECONDS
from mcp_server import picking
from mcp_server.calls import ViewCall
from mcp_server.described import OperationShape, Schema, operations

Arguments = Mapping[str, Any]

WAIT, ONCE, CONFIRM = "waitSeconds", "idempotencyKey", "confirmName"
# Arguments that no operation has by this name, and what they are.
OWN: Mapping[str, Schema] = {
    WAIT: {
        "type": "integer",
        "minimum": 0,
        "maximum": MAX_WAIT_SECONDS,
        "description": "Answer when the agent has settled (running, stopped or failed), after this many seconds at "
        "the latest. 0 or absent: answer at once.",
    },
    ONCE: {
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "description": "Any text of yours. A repeat with the same text and arguments within a day does nothing again "
        "and gets the first answer.",
    },
    CONFIRM: {"type": "string", "description": "The agent's present name, to show that you mean this one."},
}
# In the path of an operation these arguments have other names.
IN_PATH = {"agentId": "id", "personaId": "id", "keyId": "id", "backup": "name"}
ABOUT_AGENT = "The id of the agent (agt_…), from list_agents or create_agent."

_STEP = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+-]{0,199}")


class ToolRefused(Exception):
    """A refusal that the model reads and can act on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """`operations` are the calls it may make; with several, `choose` names the one, from the arguments."""

    name: str
    title: str
    about: str
    operations: tuple[str, ...]
    takes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()  # besides those that its operation needs
    told: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, Schema] = field(default_factory=dict)  # arguments of this tool alone
    shows: tuple[str, ...] = ()  # of the answer; empty: all of it
    fixed: Mapping[str, str] = field(default_factory=dict)  # in the query
    page: int = 0  # how many rows a list shows; 0: it has no pages
    most: int = 0  # how many rows may be asked for
    goes_on_with: str = ""  # the argument that gets the next page
    choose: Callable[[Arguments], str] | None = None
    adds: Callable[[Arguments], Mapping[str, Any]] | None = None  # to the body
    read_only: bool = False
    destructive: bool = False  # it takes away what no other call brings back
    idempotent: bool = False
    outside: bool = False  # it reaches what is not ours: a model, a payment provider

    def operation(self, arguments: Arguments) -> OperationShape:
        return operations()[self.choose(arguments) if self.choose else self.operations[0]]

    def shapes(self) -> list[OperationShape]:
        return [operations()[name] for name in self.operations]

    def call(self, arguments: Arguments) -> ViewCall:
        """The call with these arguments. Raises ToolRefused."""
        self._refuse_others(arguments)
        shape = self.operation(arguments)
        headers = {"Idempotency-Key": str(arguments[ONCE])} if arguments.get(ONCE) else {}
        if seconds := _seconds(arguments):
            headers["Prefer"] = f"wait={seconds}"
        rest = {name: value for name, value in arguments.items() if name not in OWN and name not in self.own}
        return ViewCall(
            method=shape.method,
            path=_path(shape, arguments),
            query={**self.fixed, **self._query(shape, rest)},
            body=None
            if shape.in_body is None
            else {**_body(shape, rest), **(self.adds(arguments) if self.adds else {})},
            headers=headers,
        )

    def input_schema(self) -> Schema:
        shapes = self.shapes()
        properties = {name: self._argument(name, shapes) for name in self.takes}
        needed = [name for name in self.takes if name in self.needs or _is_needed(name, shapes)]
        return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}

    def output_schema(self) -> Schema:
        answers = [shape.answer or {"type": "object", "properties": {}} for shape in self.shapes()]
        cut = picking.merged([picking.picked_schema(one, picking.tree(self.shows)) for one in answers])
        found = {"type": "object", **cut, "properties": {**cut.get("properties", {}), **self._beside()}}
        found.pop("description", None)
        return found

    def _beside(self) -> Mapping[str, Schema]:
        if not self.goes_on_with:
            return {}
        return {"next": {"type": "string", "description": f"There is more: give this back as `{self.goes_on_with}`."}}

    def _argument(self, name: str, shapes: list[OperationShape]) -> Schema:
        if name in OWN or name in self.own:
            return {**OWN.get(name, {}), **self.own.get(name, {})}
        found = next(one for one in (_schema_of(name, shape) for shape in shapes) if one is not None)
        told = self.told.get(name) or (ABOUT_AGENT if name == "agentId" else "")
        bounded = {"maximum": self.most} if name == "limit" and self.most else {}
        return {**found, **bounded, **({"description": told} if told else {})}

    def _refuse_others(self, arguments: Arguments) -> None:
        for name in arguments:
            if name not in self.takes:
                raise ToolRefused(
                    f"{name[:100]}: not an argument of {self.name}; it takes {', '.join(self.takes) or 'none'}"
                )
        for name in self.input_schema()["required"]:
            if arguments.get(name) in (None, ""):
                raise ToolRefused(f"{name}: is missing; {self.name} needs it")

    def _query(self, shape: OperationShape, arguments: Arguments) -> Mapping[str, str]:
        others = shape.in_query.keys() - ({"limit"} if self.page else set())
        asked = {name: _text(name, value) for name, value in arguments.items() if name in others}
        asked = {
            name: value for name, value in asked.items() if name not in IN_PATH or IN_PATH[name] not in shape.in_path
        }
        if self.page:
            asked["limit"] = str(self._limit(arguments.get("limit", self.page)))
        return asked

    def _limit(self, limit: Any) -> int:
        if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= self.most:
            raise ToolRefused(f"limit: must be a whole number from 1 to {self.most}, not {str(limit)[:100]}")
        return limit


def picked_from(choices: Iterable[str], arguments: Arguments, name: str) -> str:
    """The argument, which must be one of these. Raises ToolRefused."""
    value, allowed = arguments.get(name), tuple(choices)
    if value not in allowed:
        raise ToolRefused(f"{name}: {str(value)[:100]!r} is not one of {', '.join(allowed)}")
    return str(value)


def _seconds(arguments: Arguments) -> int:
    seconds = arguments.get(WAIT, 0)
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 0 <= seconds <= MAX_WAIT_SECONDS:
        raise ToolRefused(f"{WAIT}: must be a whole number from 0 to {MAX_WAIT_SECONDS}, not {str(seconds)[:100]}")
    return seconds


def _path(shape: OperationShape, arguments: Arguments) -> str:
    """The path with its ids. An id may not lead to another path, so it has no slash and does not begin with a dot."""
    path = shape.path
    for name, inside in IN_PATH.items():
        if inside in shape.in_path and f"{{{inside}}}" in path and name in arguments:
            value = arguments[name]
            if not isinstance(value, str) or _STEP.fullmatch(value) is None:
                raise ToolRefused(f"{name}: {str(value)[:100]!r} is not the id or name of anything")
            path = path.replace(f"{{{inside}}}", value)
    return path


def _body(shape: OperationShape, arguments: Arguments) -> Mapping[str, Any]:
    return {name: value for name, value in arguments.items() if name in (shape.in_body or {})}


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int):
        raise ToolRefused(f"{name}: must be a text or a whole number")
    return str(value)


def _schema_of(name: str, shape: OperationShape) -> Schema | None:
    if IN_PATH.get(name) in shape.in_path:
        return {"type": "string"}
    return shape.in_query.get(name) or (shape.in_body or {}).get(name)


def _is_needed(name: str, shapes: list[OperationShape]) -> bool:
    return all(
        name in shape.required or (IN_PATH.get(name) in shape.in_path and IN_PATH.get(name) in shape.required)
        for shape in shapes
    )
