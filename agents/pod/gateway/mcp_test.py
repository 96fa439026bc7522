"""`POST /mcp-test`: tests whether an MCP server answers from this pod, and which tools it has.
The request is the same as an engine's: from the pod, over streamable HTTP, with the owner's headers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import web

from agents.pod.gateway.answers import Refusal
from agents.pod.gateway.peers import dialling
from agents.pod.gateway.peers.dialling import PeerFailure
from agents.pod.gateway.pod import Pod
from agents.pod.masking import mask_text

SECONDS = 15.0  # the most for the whole test
TOOLS = 200
NAME_CHARACTERS = 128
ERROR_CHARACTERS = 300
VERSION = "2025-06-18"
SESSION, PROTOCOL = "Mcp-Session-Id", "MCP-Protocol-Version"

Json = dict[str, Any]


class McpTest:
    def __init__(self, pod: Pod) -> None:
        self._pod = pod

    async def answer(self, body: Json) -> web.Response:
        url, headers, seconds = _wanted(body)
        started, tools, error = time.monotonic(), [], None
        try:
            async with asyncio.timeout(seconds):
                tools = await _Talk(url, headers, self._pod.secrets.peer_networks).tools()
        except TimeoutError:
            error = f"it did not answer within {seconds:.0f} s"
        except PeerFailure as failure:
            error = mask_text(str(failure), [*self._pod.secret_texts(), *filter(None, headers.values())])
        ms = round((time.monotonic() - started) * 1000)
        return web.json_response({"ok": error is None, "ms": ms, "tools": tools, "error": error})


@dataclass(slots=True)
class _Talk:
    """A session with one MCP server. It is ended when the test ends."""

    url: str
    headers: Mapping[str, str]
    networks: list[str]
    session: str = ""
    version: str = ""

    async def tools(self) -> list[str]:
        """The names of the server's tools. Raises PeerFailure."""
        hello = {
            "protocolVersion": VERSION,
            "capabilities": {},
            "clientInfo": {"name": "agentpods", "version": "1.0.0"},
        }
        said = await self._ask(1, "initialize", hello)
        spoken = said.get("protocolVersion")
        self.version = spoken if isinstance(spoken, str) else VERSION
        try:
            await self._tell("notifications/initialized")
            return _names(await self._ask(2, "tools/list", {}))
        finally:
            await self._end()

    async def _ask(self, number: int, method: str, params: Json) -> Json:
        """Send a request and return the result. The first answer starts the session. Raises PeerFailure."""
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        async with self._sent("POST", message) as answer:
            dialling.refuse(answer, "your headers")
            self.session = self.session or answer.headers.get(SESSION, "")
            found = await _message(answer, number)
        if isinstance(error := found.get("error"), dict):
            words = " ".join(str(error.get("message")).split())[:ERROR_CHARACTERS]
            raise PeerFailure(f"it refused {method}: {words.encode('utf-8', 'replace').decode()}")
        result = found.get("result")
        if not isinstance(result, dict):
            raise PeerFailure("it answered something else than MCP")
        return result

    async def _tell(self, method: str) -> None:
        async with self._sent("POST", {"jsonrpc": "2.0", "method": method}) as answer:
            dialling.refuse(answer, "your headers")

    async def _end(self) -> None:
        """End the session at the server. A server without sessions refuses this, which does not matter."""
        if not self.session:
            return
        try:
            async with self._sent("DELETE", None):
                pass
        except PeerFailure:
            return

    def _sent(self, method: str, body: Json | None) -> dialling.Asked:
        own = {SESSION: self.session, PROTOCOL: self.version}
        headers = {
            **self.headers,
            "Accept": "application/json, text/event-stream",
            **{name: value for name, value in own.items() if value},
        }
        return dialling.asked(method, self.url, networks=self.networks, headers=headers, body=body, seconds=SECONDS)


async def _message(answer: aiohttp.ClientResponse, number: int) -> Json:
    """The answer to this request: the whole body, or one event of a stream that may stay open."""
    if answer.content_type != "text/event-stream":
        return dialling.json_object(await dialling.read(answer))
    raw, size = b"", 0
    async for piece in answer.content.iter_any():
        size += len(piece)
        if size > dialling.ANSWER_BYTES:
            raise PeerFailure(f"it answered more than {dialling.ANSWER_BYTES} bytes")
        *events, raw = (raw + piece.replace(b"\r", b"")).split(b"\n\n")
        for event in events:
            data = b"".join(line[5:].strip() for line in event.split(b"\n") if line.startswith(b"data:"))
            if data and (found := dialling.json_object(data)).get("id") == number:
                return found
    raise PeerFailure("it ended without an answer")


def _names(result: Json) -> list[str]:
    tools = result.get("tools")
    if not isinstance(tools, list):
        raise PeerFailure("it names no tools")
    names = [tool.get("name") for tool in tools[:TOOLS] if isinstance(tool, dict)]
    return [name[:NAME_CHARACTERS].encode("utf-8", "replace").decode() for name in names if isinstance(name, str)]


def _wanted(body: Json) -> tuple[str, dict[str, str], float]:
    url, headers, seconds = body.get("url"), body.get("headers"), body.get("seconds", SECONDS)
    if not isinstance(url, str) or not isinstance(headers, dict) or not isinstance(seconds, int | float):
        raise Refusal(400, "body: must be {url, headers, seconds}")
    if not all(isinstance(value, str) for value in headers.values()):
        raise Refusal(400, "body.headers: names and values are texts")
    return url, headers, min(max(seconds, 0.0), SECONDS)
