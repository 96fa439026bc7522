"""What a tool does when it is called: the call of the API, and what the model gets of the answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.http import HttpRequest
from django.http.response import HttpResponse, HttpResponseBase

from config import dry_run
from config.streams import AsyncAnswer
from mcp_server import calls, picking
from mcp_server.reading import READING
from mcp_server.tool import CONFIRM, Arguments, Tool, ToolRefused
from mcp_server.writing import WRITING

TOOLS = {tool.name: tool for tool in (*READING, *WRITING)}
MOST_CHARACTERS = 200_000  # of an answer: a model could not read more
COST = {
    "type": "object",
    "description": "In USD: `now` at once, `monthly` once the agent is paid for.",
    "properties": {"now": {"type": "string"}, "monthly": {"type": "string"}},
    "required": ["now"],
}
DELETED = {"deleted": {"type": "boolean"}}


@dataclass(frozen=True, slots=True)
class Later:
    """The answer comes once the agent has settled; `told` makes the result of its body."""

    answer: AsyncAnswer
    told: Callable[[bytes], dict[str, Any]]


def perform(tool: Tool, arguments: Arguments, asked_by: HttpRequest) -> dict[str, Any] | Later:
    """Call the tool. Raises ToolRefused, with what the model has to know."""
    call = tool.call(arguments)
    if CONFIRM in tool.takes:
        _confirm(arguments, asked_by)
    response = calls.answer(call, asked_by)
    if response.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        _refuse_longest(arguments, _content(response))
    if isinstance(response, AsyncAnswer):
        return Later(response, partial(_told, tool, response))
    return _told(tool, response, _content(response))


def output_schema(tool: Tool) -> dict[str, Any]:
    """True of every result of the tool."""
    schema = tool.output_schema()
    if "dryRun" in tool.fixed:
        schema["properties"] = {**schema["properties"], "cost": COST}
        schema["required"] = [*schema.get("required", []), "cost"]
    if CONFIRM in tool.takes:
        return {"type": "object", "properties": DELETED, "required": ["deleted"]}
    return schema


def _told(tool: Tool, response: HttpResponseBase, body: bytes) -> dict[str, Any]:
    """What the model gets. A call that waited has its status only now. Raises ToolRefused."""
    _refuse(response, body)
    return _shown(tool, body, response)


def _confirm(arguments: Arguments, asked_by: HttpRequest) -> None:
    """Compare the name before something is deleted for good. Raises ToolRefused."""
    response = calls.answer(TOOLS["get_agent"].call({"agentId": arguments["agentId"]}), asked_by)
    body = _content(response)
    _refuse(response, body)
    name = json.loads(body)["agent"]["name"]
    if arguments[CONFIRM] != name:
        raise ToolRefused(f"{CONFIRM}: is not the name of this agent, so nothing was deleted; get_agent shows its name")


def _content(response: HttpResponseBase) -> bytes:
    return response.content if isinstance(response, HttpResponse) else b""


def _refuse(response: HttpResponseBase, body: bytes) -> None:
    """Raise the API's refusal in its own words."""
    if response.status_code < 400:
        return
    told = json.loads(body or b"{}")
    lines = [f"{told.get('error', 'INTERNAL')} ({response.status_code}): {told.get('message', 'no such thing')}"]
    if "Retry-After" in response:
        lines.append(f"Try again in {response['Retry-After']} s.")
    if "Link" in response:
        target, _, names = response["Link"].lstrip("<").partition(">")
        lines.append(f"{'payment' if 'payment' in names else 'help'}: {target}")
    raise ToolRefused("\n".join(lines))


def _refuse_longest(arguments: Arguments, body: bytes) -> None:
    """Models know nothing of bodies, so name the argument that makes it too large."""
    name = max(arguments, key=lambda one: len(str(arguments[one])))
    raise ToolRefused(f"{name}: {len(str(arguments[name]))} characters are too long ({json.loads(body)['message']})")


def _shown(tool: Tool, body: bytes, response: HttpResponseBase) -> dict[str, Any]:
    if len(body) > MOST_CHARACTERS and not tool.shows:
        raise ToolRefused(f"the answer is too long for a model ({len(body)} bytes): ask for less, or use the HTTP API")
    shown: dict[str, Any] = picking.picked(json.loads(body), picking.tree(tool.shows)) if body else {"deleted": True}
    if "dryRun" in tool.fixed:
        shown["cost"] = _cost(response)
    if tool.goes_on_with and (following := _next(response, tool.goes_on_with)):
        shown["next"] = following
    return shown


def _cost(response: HttpResponseBase) -> dict[str, str]:
    """`usd=0.00, monthly=5.00` as an object."""
    told = dict(part.strip().split("=", 1) for part in response[dry_run.COST].split(","))
    return {"now": told["usd"], **({"monthly": told["monthly"]} if "monthly" in told else {})}


def _next(response: HttpResponseBase, name: str) -> str | None:
    """The cursor in `Link: <…>; rel="next"`."""
    if "Link" not in response:
        return None
    target, _, _ = response["Link"].partition(">")
    return next(iter(parse_qs(urlsplit(target.lstrip("<")).query).get(name, [])), None)
