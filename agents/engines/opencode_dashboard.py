"""opencode's own page: served by its server, which has to ask nobody for it."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

import aiohttp

from agents.engines.dashboard import Fetch

_READS = {"GET", "HEAD"}
# Conversations, and what is asked in them. Configuration, keys and MCP servers are the console's.
_WRITES = re.compile(r"/(api/)?(session|permission|question)(/.*)?|/log")
# A terminal is a toolset, and nothing of an agent is published. A command's arguments may hold a line for the shell.
# Its router takes capitals for small letters.
_NEVER = re.compile(r"/(api/)?(pty(/.*)?|session/.+/(shell|command|share)(/.*)?)", re.IGNORECASE)


class OpencodeDashboard:
    beside = False
    policy: str | None = None  # its page names one
    prefix = ""
    sockets: re.Pattern[str] | None = None
    public: re.Pattern[str] | None = None

    def headers(self, password: str) -> Mapping[str, str]:
        return {"Authorization": aiohttp.BasicAuth("opencode", password).encode()}

    def refuses(self, method: str, path: str) -> str | None:
        if _NEVER.fullmatch(path):
            return "the agent's page has no terminal and publishes nothing"
        if method not in _READS and not _WRITES.fullmatch(path):
            return "this is changed in your account"
        return None

    async def entry(self, fetch: Fetch) -> str:
        """A new conversation in the workspace; its first page knows no workspace until one is chosen."""
        workspace = str((await fetch("/path"))["directory"])
        return f"/{base64.urlsafe_b64encode(workspace.encode()).decode().rstrip('=')}/session"


DASHBOARD = OpencodeDashboard()
