"""The log of events: of one agent, or of all agents of the account."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from agentpods._async.following import followed
from agentpods._generated import types
from agentpods._generated.async_calls import AsyncCalls
from agentpods._wire.sse import ServerEvent
from agentpods.errors import UnexpectedAnswerError

EVENTS_A_PAGE = 1_000


class AsyncEventCalls:
    """Without an agent's id: the events of all agents, deleted ones too."""

    def __init__(self, api: AsyncCalls) -> None:
        self._api = api

    async def list(
        self, agent_id: str | None = None, *, after: str | None = None
    ) -> AsyncGenerator[types.LoggedEvent, None]:
        """The events of the last thirty days that came after the one with this id, oldest first."""
        while True:
            page = await self._page(agent_id, after)
            for event in page:
                yield event
            if len(page) < EVENTS_A_PAGE:
                return
            if page[-1]["id"] == after:
                raise UnexpectedAnswerError("the list of events does not go on")
            after = page[-1]["id"]

    def follow(self, agent_id: str | None = None, *, after: str | None = None) -> AsyncGenerator[ServerEvent, None]:
        """The same events, and then those that come, over broken connections. None is missed or told twice.

        The name of an event is its type, `data` is the `LoggedEvent`. `end` at last: its `message` says why none
        follows.
        """
        return followed(lambda place: self._stream(agent_id, place), after)

    async def _page(self, agent_id: str | None, after: str | None) -> Sequence[types.LoggedEvent]:
        if agent_id is None:
            return (await self._api.list_events(after=after, limit=EVENTS_A_PAGE))["events"]
        return (await self._api.list_agent_events(agent_id, after=after, limit=EVENTS_A_PAGE))["events"]

    def _stream(self, agent_id: str | None, place: str | None) -> AsyncGenerator[ServerEvent, None]:
        if agent_id is None:
            return self._api.stream_list_events(last_event_id=place)
        return self._api.stream_list_agent_events(agent_id, last_event_id=place)
