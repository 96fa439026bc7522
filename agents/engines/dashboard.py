"""The contract between the gateway and an engine that has a page of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from re import Pattern
from typing import Any, Protocol

# A header by which an engine hears at which of the agent's addresses its reader sees the page.
VISITED = "X-Agentpods-Visited"
# Asks the engine for the JSON at a path.
Fetch = Callable[[str], Awaitable[Any]]


class Dashboard(Protocol):
    """The engine's own page. It is shown below the pod's address, at every path that the gateway has no use for."""

    beside: bool  # a server of its own beside the engine, there only where its owner has credentials for it
    policy: str | None  # the content policy of a page that names none; None = no script of it runs then
    prefix: str  # what its server does not know of the paths that its reader sees
    sockets: Pattern[str] | None  # paths of its WebSockets; None = it has none
    public: Pattern[str] | None  # paths that anybody may call: what the agent's owner built behind them answers

    def headers(self, password: str) -> Mapping[str, str]:
        """By which the engine knows the gateway; `password` is that of its place."""

    def refuses(self, method: str, path: str) -> str | None:
        """Why the page may not do this, or None: what is rendered is not changed behind the console's back."""

    async def entry(self, fetch: Fetch) -> str:
        """The path where its reader begins."""
