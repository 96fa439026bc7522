"""One face for the three clients, so that one test drives each of them: the words are those of the blocking client."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from agentpods import Agentpods, types, webhooks
from agentpods._generated.calls import Calls
from agentpods._sync.agents import AgentCalls
from agentpods._sync.backups import BackupCalls
from agentpods._sync.events import EventCalls
from agentpods._sync.webhooks import WebhookCalls
from agentpods._wire.settings import TIMEOUT

GROUPS = ("api", "agents", "backups", "events", "webhooks")


@dataclass(frozen=True)
class DrivenClient:
    """A client of a running service. `driven` has the operations of `api` that ended without an error."""

    api: Calls
    agents: AgentCalls
    backups: BackupCalls
    events: EventCalls
    webhooks: WebhookCalls
    verified: Callable[..., types.WebhookEvent]
    driven: set[str]


class _NotedCalls:
    """Notes each operation that ends without an error."""

    def __init__(self, calls: object, driven: set[str]) -> None:
        self._calls, self._driven = calls, driven

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method: Callable[..., Any] = getattr(self._calls, name)

        def call(*given: Any, **named: Any) -> Any:
            answer = method(*given, **named)
            self._driven.add(name)
            return answer

        return call


def operations() -> set[str]:
    """The methods of `api` that are one operation each."""
    named = {name for name, _ in inspect.getmembers(Calls, inspect.isfunction)}
    return {name for name in named if not name.startswith(("_", "each_of_", "stream_"))}


def with_words(groups: Mapping[str, object], check: Callable[..., types.WebhookEvent]) -> DrivenClient:
    """The client with these groups of calls. Something that stands for a group has its words, not its class."""
    driven: set[str] = set()
    said: dict[str, Any] = {**groups, "api": _NotedCalls(groups["api"], driven)}
    return DrivenClient(**said, verified=check, driven=driven)


@contextmanager
def blocking(url: str, key: str, *, timeout: float = TIMEOUT, max_retries: int = 3) -> Iterator[DrivenClient]:
    with Agentpods(url, key, timeout=timeout, max_retries=max_retries) as pods:
        yield with_words({name: getattr(pods, name) for name in GROUPS}, webhooks.verified)
