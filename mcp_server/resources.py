"""Resources: the documentation, and each persona as text."""

from __future__ import annotations

import json
from typing import Any, cast

import mcp_types as types
from django.http import HttpRequest
from django.http.response import HttpResponse
from mcp.shared.exceptions import MCPError

from mcp_server import calls, described
from mcp_server.calls import ViewCall
from mcp_server.performing import TOOLS, perform
from mcp_server.tool import ToolRefused

_PERSONAS = "agentpods://personas/"
_START, _API, _EVERYTHING = "agentpods://docs/start", "agentpods://docs/api", "agentpods://docs/everything"
PAGE = 50
DOCUMENTS = [
    types.Resource(
        uri=_START,
        name="start",
        title="How to use the service",
        mime_type="text/plain",
        description="What the service is, and the whole life of an agent as HTTP calls.",
    ),
    types.Resource(
        uri=_API,
        name="api",
        title="The API in one page",
        mime_type="text/markdown",
        description="Waiting, errors, causes of silence, domains, channels, payments.",
    ),
    types.Resource(
        uri=_EVERYTHING,
        name="everything",
        title="Every operation of the API",
        mime_type="text/plain",
        description="Long: all that the HTTP API can do.",
    ),
]
PERSONA = types.ResourceTemplate(
    uri_template=f"{_PERSONAS}{{personaId}}",
    name="persona",
    title="A persona",
    mime_type="application/json",
    description="One persona with its system prompt. search_personas finds ids.",
)


def page(cursor: str | None, asked_by: HttpRequest) -> types.ListResourcesResult:
    """The documents and the first personas, then page by page more personas."""
    asked = {"limit": PAGE, **({"cursor": cursor} if cursor else {})}
    try:
        found = _now("search_personas", asked, asked_by)
    except ToolRefused as refusal:
        raise MCPError(types.INVALID_PARAMS, str(refusal)) from refusal
    personas = [
        types.Resource(
            uri=f"{_PERSONAS}{one['id']}",
            name=one["id"],
            title=one["name"],
            description=one["tagline"],
            mime_type="application/json",
        )
        for one in found["personas"]
    ]
    return types.ListResourcesResult(
        resources=[*([] if cursor else DOCUMENTS), *personas], next_cursor=found.get("next")
    )


def read(uri: str, asked_by: HttpRequest) -> types.ReadResourceResult:
    """Raises MCPError for an address that is nothing's."""
    match uri:
        case "agentpods://docs/start":
            text, kind = _page("/llms.txt", asked_by), "text/plain"
        case "agentpods://docs/everything":
            text, kind = _page("/llms-full.txt", asked_by), "text/plain"
        case "agentpods://docs/api":
            text, kind = described.introduction(), "text/markdown"
        case _:
            text, kind = _persona(uri, asked_by), "application/json"
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=text)])


def _page(path: str, asked_by: HttpRequest) -> str:
    response = calls.answer(ViewCall(method="GET", path=path), asked_by)
    return response.content.decode() if isinstance(response, HttpResponse) else ""


def _persona(uri: str, asked_by: HttpRequest) -> str:
    if not uri.startswith(_PERSONAS):
        raise _not_found(uri, "the resources are agentpods://docs/… and agentpods://personas/…")
    try:
        found = _now("get_persona", {"personaId": uri.removeprefix(_PERSONAS)}, asked_by)
    except ToolRefused as refusal:
        raise _not_found(uri, str(refusal)) from refusal
    return json.dumps(found, ensure_ascii=False)


def _not_found(uri: str, why: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, f"Resource not found: {why}", data={"uri": uri[:300]})


def _now(tool: str, arguments: dict[str, Any], asked_by: HttpRequest) -> dict[str, Any]:
    """The answer of a tool that never waits."""
    return cast("dict[str, Any]", perform(TOOLS[tool], arguments, asked_by))
