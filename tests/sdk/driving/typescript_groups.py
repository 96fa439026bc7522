"""The usual calls of the TypeScript SDK, with the words of the Python SDK: the arguments have another order there."""

from __future__ import annotations

import base64
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from agentpods import ChatDelta, ChatDone, ChatEvent, ChatPart, ServerEvent

Calls = Callable[..., Any]
Event = TypeVar("Event")


def groups(calls: Calls) -> Mapping[str, object]:
    """`calls(group, name, *given)` makes a call."""
    words: tuple[type[_Words], ...] = (TypescriptAgents, TypescriptBackups, TypescriptEvents, TypescriptWebhooks)
    return {kind.group: kind(calls) for kind in words}


def _given(*values: Any, **options: Any) -> list[Any]:
    """The arguments of a call: without values at the end that were not given, and without such options."""
    those = {name: value for name, value in options.items() if value is not None}
    found = [*values, *([those] if those else [])]
    while found and found[-1] is None:
        found.pop()
    return found


class _Words:
    group = ""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def _call(self, name: str, *values: Any, **options: Any) -> Any:
        return self._calls(self.group, name, *_given(*values, **options))


class TypescriptAgents(_Words):
    group = "agents"

    def create(self, *, wait: int | None = None, idempotency_key: str | None = None, **wanted: Any) -> Any:
        return self._call("create", wanted, wait=wait, idempotencyKey=idempotency_key)

    def get(self, id: str) -> Any:
        return self._call("get", id)

    def list(self, **query: Any) -> Any:
        return self._call("list", query)

    def update(self, id: str, *, if_match: str | None = None, **changes: Any) -> Any:
        return self._call("update", id, changes, etag=if_match)

    def set_llm_key(self, id: str, **given: Any) -> Any:
        return self._call("setLlmKey", id, given)

    def pause(self, id: str, *, wait: int | None = None) -> Any:
        return self._call("pause", id, wait)

    def resume(self, id: str, *, wait: int | None = None) -> Any:
        return self._call("resume", id, wait)

    def rebuild(self, id: str, *, wait: int | None = None) -> Any:
        return self._call("rebuild", id, wait)

    def delete(self, id: str, *, wait: int | None = None) -> Any:
        return self._call("delete", id, wait)

    def explain(self, id: str) -> Any:
        return self._call("explain", id)

    def wait(self, id: str, *, until: str | None = None, seconds: float | None = None) -> Any:
        return self._call("wait", id, until=until, seconds=seconds)

    def chat(self, id: str, message: str, *, session_id: str | None = None) -> Any:
        return self._call("chat", id, message, session_id)

    def stream(self, id: str, message: str, *, session_id: str | None = None) -> Generator[ChatEvent]:
        return _each(_chat_event, self._call("stream", id, message, session_id))

    def logs(self, id: str, **query: Any) -> Any:
        return self._call("logs", id, query)

    def follow_logs(self, id: str, *, after: str | None = None) -> Generator[ServerEvent]:
        return _each(_server_event, self._call("followLogs", id, after=after))

    def events(self, id: str, *, after: str | None = None) -> Any:
        return self._call("events", id, after=after)


def _each(made: Callable[[dict[str, Any]], Event], told: Generator[dict[str, Any]]) -> Generator[Event]:
    with closing(told):
        for event in told:
            yield made(event)


def _server_event(event: dict[str, Any]) -> ServerEvent:
    return ServerEvent(**event)


def _chat_event(event: dict[str, Any]) -> ChatEvent:
    match event["type"]:
        case "delta":
            return ChatDelta(event["text"])
        case "part":
            return ChatPart(event["part"])
    return ChatDone(event["reply"], event["sessionId"])


class TypescriptEvents(_Words):
    """In TypeScript these are calls of `agents`, where null means all agents."""

    group = "events"

    def list(self, agent_id: str | None = None, *, after: str | None = None) -> Any:
        return self._calls("agents", "events", agent_id, *_given(after=after))

    def follow(self, agent_id: str | None = None, *, after: str | None = None) -> Generator[ServerEvent]:
        return _each(_server_event, self._calls("agents", "followEvents", agent_id, *_given(after=after)))


class TypescriptBackups(_Words):
    group = "backups"

    def create(self, agent_id: str) -> Any:
        return self._call("create", agent_id)

    def list(self, agent_id: str) -> Any:
        return self._call("list", agent_id)

    def download(self, agent_id: str, name: str, to: Path) -> int:
        pieces = self._call("download", agent_id, name)
        return to.write_bytes(b"".join(base64.b64decode(piece) for piece in pieces))

    def restore(self, agent_id: str, name: str, *, wait: int | None = None) -> Any:
        return self._call("restore", agent_id, name, wait)

    def delete(self, agent_id: str, name: str) -> Any:
        return self._call("delete", agent_id, name)


class TypescriptWebhooks(_Words):
    group = "webhooks"

    def set(self, agent_id: str, url: str) -> Any:
        return self._call("set", agent_id, url)

    def delete(self, agent_id: str) -> Any:
        return self._call("delete", agent_id)

    def test(self, agent_id: str) -> Any:
        return self._call("test", agent_id)

    def deliveries(self, agent_id: str) -> Any:
        return self._call("deliveries", agent_id)

    def redeliver(self, agent_id: str, delivery_id: str) -> Any:
        return self._call("redeliver", agent_id, delivery_id)
