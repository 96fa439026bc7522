"""The common part of both MCP doubles: four tools, and a journal of every message, built on the official SDK."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server

Context = ServerRequestContext[Any, Any]
Journal = Callable[[Context], None]

# A picture with one pixel.
PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d49444154789c6360f8cfc000000301010018dd8db00000000049454e44ae426082"
    )
).decode()


def tool(name: str, description: str, **arguments: str) -> types.Tool:
    schema = {
        "type": "object",
        "properties": {argument: {"type": kind} for argument, kind in arguments.items()},
        "required": list(arguments),
    }
    return types.Tool(name=name, description=description, input_schema=schema)


TOOLS = (
    tool("echo", "Say the same again", text="string"),
    tool("add", "Add two numbers", a="number", b="number"),
    tool("picture", "Give a picture"),
    tool("fail", "Always fail"),
)


def build(
    name: str, *, journal: Journal, tools: Callable[[], list[types.Tool]], page: int | None = None
) -> Server[dict[str, Any]]:
    """A server with these tools, which it reads again for each list; `page` is the number of tools per page."""

    async def list_tools(_: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        offered = tools()
        first = int(params.cursor) if params and params.cursor else 0
        last = first + (page or len(offered))
        return types.ListToolsResult(tools=offered[first:last], next_cursor=str(last) if last < len(offered) else None)

    async def call_tool(_: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in {offered.name for offered in tools()}:
            return _said(f"no such tool: {params.name}", failed=True)
        return _result(name, params.name, params.arguments or {})

    async def note(ctx: Context, call_next: CallNext) -> HandlerResult:
        journal(ctx)
        return await call_next(ctx)

    server: Server[dict[str, Any]] = Server(name, version="1.0", on_list_tools=list_tools, on_call_tool=call_tool)
    server.middleware.append(note)
    return server


def _result(server: str, name: str, given: dict[str, Any]) -> types.CallToolResult:
    match name:
        case "add":
            return _said(f"the sum is {given['a'] + given['b']:g}")
        case "picture":
            return types.CallToolResult(content=[types.ImageContent(type="image", data=PIXEL, mime_type="image/png")])
        case "fail":
            return _said("it failed as told", failed=True)
        case _:
            return _said(f"{server} echoes {given.get('text')}")


def _said(text: str, *, failed: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=failed)
