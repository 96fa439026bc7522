"""opencode's own page. Its server has all the files and downloads none."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

import aiohttp

from agents.engines.dashboard import Fetch

_READS = {"GET", "HEAD"}
# Conversations, and answers to the agent's questions. Configuration, keys and MCP servers are changed in the console.
_WRITES = re.compile(r"/(api/)?(session|permission|question)(/.*)?|/log")
# Terminals are a toolset, and nothing of an agent is published. A command's arguments may contain a line for the shell.
# opencode's router ignores upper and lower case.
_NEVER = re.compile(r"/(api/)?(pty(/.*)?|session/.+/(shell|command|share)(/.*)?)", re.IGNORECASE)


class OpencodeDashboard:
    beside = False
    policy: str | None = None  # the page sets its own policy
    prefix = ""
    sockets: re.Pattern[str] | None = None
    public: re.Pattern[str] | None = None

    def headers(self, password: str) -> Mapping[str, str]:
        return {"Authorization": aiohttp.encode_basic_auth("opencode", password)}

    def refuses(self, method: str, path: str) -> str | None:
        if _NEVER.fullmatch(path):
            return "the agent's page has no terminal and publishes nothing"
        if method not in _READS and not _WRITES.fullmatch(path):
            return "this is changed in your account"
        return None

    async def entry(self, fetch: Fetch) -> str:
        """The path of a new conversation in the workspace. opencode's first page shows no workspace until the visitor
        chooses one.
        """
        workspace = str((await fetch("/path"))["directory"])
        return f"/{base64.urlsafe_b64encode(workspace.encode()).decode().rstrip('=')}/session"


DASHBOARD = OpencodeDashboard()
