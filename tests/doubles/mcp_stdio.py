"""A real MCP server over stdio, which an engine starts: `python -m tests.doubles.mcp_stdio`.

The server writes each message as one line of JSON into the file that MCP_JOURNAL names, with the pids of its parent
processes and its environment. `entry()` is its configuration; `read_journal` reads the file.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import psutil
from mcp.server.stdio import stdio_server

from tests.doubles import mcp_tools

ROOT = Path(__file__).resolve().parents[2]


def entry(name: str, journal: Path, **env: str) -> dict[str, Any]:
    """This server's entry for `mcpServers`."""
    return {
        "name": name,
        "command": sys.executable,
        "args": ["-m", "tests.doubles.mcp_stdio"],
        "env": {"PYTHONPATH": str(ROOT), "MCP_JOURNAL": str(journal), **env},
    }


def read_journal(journal: Path) -> list[dict[str, Any]]:
    if not journal.exists():
        return []
    return [json.loads(line) for line in journal.read_text().splitlines() if line]


def _note(context: mcp_tools.Context) -> None:
    message = {
        "method": context.method,
        "params": dict(context.params or {}),
        "env": dict(os.environ),
        "pid": os.getpid(),
        "ancestors": [parent.pid for parent in psutil.Process().parents()],
    }
    with Path(os.environ["MCP_JOURNAL"]).open("a") as file:
        file.write(json.dumps(message, default=str) + "\n")


async def _serve() -> None:
    server = mcp_tools.build("stdio", journal=_note, tools=lambda: list(mcp_tools.TOOLS))
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(_serve())
