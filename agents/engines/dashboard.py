"""The contract between the gateway and an engine that has its own page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from re import Pattern
from typing import Any, Protocol

# With this header the gateway tells the engine which of the agent's addresses the visitor uses.
VISITED = "X-Agentpods-Visited"
# Gets JSON from a path of the engine.
Fetch = Callable[[str], Awaitable[Any]]


class Dashboard(Protocol):
    """The engine's own page. It is shown at the pod's address, at all paths that the gateway does not use itself."""

    # whether it is a separate server beside the engine, which exists only if the owner has credentials for it
    beside: bool
    policy: str | None  # content security policy for a page that sets none; None = no script of such a page runs
    prefix: str  # the part of the visitor's paths that the page's server does not know
    sockets: Pattern[str] | None  # paths of its WebSockets; None = there are none
    # paths that anybody may call, because the agent's owner has built something behind them; None = there are none
    public: Pattern[str] | None

    def headers(self, password: str) -> Mapping[str, str]:
        """Headers by which the engine recognises the gateway. `password` is the password of the engine's server."""

    def refuses(self, method: str, path: str) -> str | None:
        """The reason why the page may not do this; None if it may. Settings that the console renders must not be
        changed here.
        """

    async def entry(self, fetch: Fetch) -> str:
        """The path of the page's entry."""
