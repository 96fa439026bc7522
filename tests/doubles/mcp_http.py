"""A real MCP server over streamable HTTP that demands a header and keeps every message.

In a test it is a context manager; `python -m tests.doubles.mcp_http --port 9100 --header X-Key=secret` runs it alone
and prints each message.
"""

from __future__ import annotations

import argparse
import json
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.doubles import mcp_tools
from tests.doubles.reached import ADDRESS

START_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class McpMessage:
    method: str
    params: dict[str, Any]
    headers: dict[str, str] = field(repr=False)


class McpHttpServer:
    """Set `tools` and `require` at any time; read `seen` and `refused`."""

    def __init__(
        self,
        *,
        require: Mapping[str, str] | None = None,
        name: str = "http",
        port: int = 0,
        json_response: bool = False,
        page: int | None = None,
        stateless: bool = False,
    ) -> None:
        self.require = {key.lower(): value for key, value in (require or {}).items()}
        self.tools = list(mcp_tools.TOOLS)
        self.seen: list[McpMessage] = []
        self.refused = 0  # requests without the required header
        self.ended = 0  # sessions that the client ended by itself
        server = mcp_tools.build(name, journal=self._note, tools=lambda: self.tools, page=page)
        app = server.streamable_http_app(json_response=json_response, stateless_http=stateless, host=ADDRESS)
        self._socket = socket.create_server((ADDRESS, port))
        config = uvicorn.Config(
            self._guarded(app), log_config=None, access_log=False, ws="none", timeout_graceful_shutdown=1
        )
        self._http = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._http.run, kwargs={"sockets": [self._socket]}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self._socket.getsockname()[1]}/mcp"

    def entry(self, name: str) -> dict[str, Any]:
        """This server's entry for `mcpServers`."""
        return {"name": name, "url": self.url, "headers": dict(self.require)}

    def messages(self, method: str) -> list[McpMessage]:
        return [message for message in self.seen if message.method == method]

    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        return [(call.params["name"], dict(call.params.get("arguments") or {})) for call in self.messages("tools/call")]

    def start(self) -> Self:
        self._thread.start()
        until = time.monotonic() + START_SECONDS
        while not self._http.started:
            assert time.monotonic() < until, "the MCP server did not start"
            time.sleep(0.01)
        return self

    def stop(self) -> None:
        self._http.should_exit = True
        self._thread.join(START_SECONDS)
        self._socket.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _note(self, context: mcp_tools.Context) -> None:
        headers = dict(context.request.headers) if context.request else {}
        self.seen.append(McpMessage(context.method, dict(context.params or {}), headers))

    def _guarded(self, app: ASGIApp) -> ASGIApp:
        """The app behind a check of the required header."""

        async def guard(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                shown = {key.decode().lower(): value.decode() for key, value in scope["headers"]}
                if any(shown.get(name) != value for name, value in self.require.items()):
                    self.refused += 1
                    await send({"type": "http.response.start", "status": 401, "headers": []})
                    await send({"type": "http.response.body", "body": b"no such key"})
                    return
                self.ended += scope["method"] == "DELETE"
            await app(scope, receive, send)

        return guard


class _Printing(McpHttpServer):
    def _note(self, context: mcp_tools.Context) -> None:
        super()._note(context)
        print(json.dumps({"method": context.method, "params": dict(context.params or {})}), flush=True)  # noqa: T201


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--header", action="append", default=[], help="Name=value that every request must carry")
    given = parser.parse_args()
    with _Printing(port=given.port, require=dict(header.split("=", 1) for header in given.header)) as server:
        print(server.url, flush=True)  # noqa: T201 - the address is its output
        threading.Event().wait()


if __name__ == "__main__":
    main()
