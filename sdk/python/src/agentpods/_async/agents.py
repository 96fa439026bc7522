"""Agents: their life, their conversations, their log and their events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Unpack

from agentpods._async.events import AsyncEventCalls
from agentpods._async.following import followed
from agentpods._generated import types
from agentpods._generated.async_calls import AsyncCalls
from agentpods._wire.chat import ChatDone, ChatEvent, chat_event
from agentpods._wire.sse import ServerEvent
from agentpods._wire.watching import AgentWatch, Goal
from agentpods._wire.words import AgentStatus, LogSource
from agentpods.errors import NoAnswerError, NotFoundError, StreamCutError


class AsyncAgentCalls:
    """`wait` of a call is at most 60: the seconds in which the service waits until the agent has settled."""

    def __init__(self, api: AsyncCalls) -> None:
        self._api = api

    async def create(
        self,
        *,
        wait: int | None = None,
        idempotency_key: str | None = None,
        **wanted: Unpack[types.CreateAgentRequest],
    ) -> types.CreatedAgentEnvelope:
        """Create an agent. `webhookSecret` is shown this once. A repeat with the same key makes no second agent."""
        return await self._api.create_agent(wanted, wait=wait, idempotency_key=idempotency_key)

    async def get(self, id: str) -> types.Agent:
        return (await self._api.get_agent(id))["agent"]

    def list(
        self, *, status: AgentStatus | None = None, fields: str | None = None
    ) -> AsyncGenerator[types.Agent, None]:
        """All of them, newest first; further pages are read as they are needed."""
        return self._api.each_of_agents(status=status, fields=fields)

    async def update(
        self, id: str, *, if_match: str | None = None, **changes: Unpack[types.PatchAgentRequest]
    ) -> types.Agent:
        return (await self._api.update_agent(id, changes, if_match=if_match))["agent"]

    async def set_llm_key(self, id: str, **given: Unpack[types.LlmKeyRequest]) -> types.Agent:
        return (await self._api.update_agent_llm_key(id, given))["agent"]

    async def pause(self, id: str, *, wait: int | None = None) -> types.Agent:
        return (await self._api.pause_agent(id, wait=wait))["agent"]

    async def resume(self, id: str, *, wait: int | None = None) -> types.Agent:
        return (await self._api.resume_agent(id, wait=wait))["agent"]

    async def rebuild(self, id: str, *, wait: int | None = None) -> types.Agent:
        return (await self._api.rebuild_agent(id, wait=wait))["agent"]

    async def delete(self, id: str, *, wait: int | None = None) -> None:
        await self._api.delete_agent(id, wait=wait)

    async def explain(self, id: str) -> types.Explanation:
        """Why it does not answer, and which call helps."""
        return (await self._api.explain_agent(id))["explanation"]

    async def wait(self, id: str, *, until: Goal = "running", seconds: float = 300.0) -> types.Agent | None:
        """Wait until the agent is `running`, `stopped`, `deleted`, or has `settled` in any status.

        Returns the agent, or None if it was to be deleted and is. Raises NotSettledError if it ends in another status
        or takes longer.
        """
        watch = AgentWatch(until, seconds=seconds)
        while True:
            try:
                agent = (await self._api.get_agent(id, wait=watch.next_wait()))["agent"]
            except NotFoundError:
                if until == "deleted":
                    return None
                raise
            if watch.is_over(agent):
                return agent
            await asyncio.sleep(watch.pause())

    async def chat(self, id: str, message: str, *, session_id: str | None = None) -> types.Reply:
        """Say something and wait for the whole reply. It is empty while no model key is installed."""
        return await self._api.chat_with_agent(id, {"message": message, "sessionId": session_id})

    async def stream(self, id: str, message: str, *, session_id: str | None = None) -> AsyncGenerator[ChatEvent, None]:
        """Say something and read the reply while it comes: `ChatDelta`, perhaps `ChatPart`, and `ChatDone` at the end.

        Closing the generator ends the turn. Raises StreamCutError if the stream ends before `ChatDone`.
        """
        events = self._api.stream_chat_with_agent(id, {"message": message, "sessionId": session_id})
        try:
            async with aclosing(events):
                async for event in events:
                    told = chat_event(event)
                    if told:
                        yield told
                    if isinstance(told, ChatDone):
                        return
        except NoAnswerError as error:
            raise StreamCutError(f"the stream broke: {error}") from error
        raise StreamCutError("the stream ended before the reply did")

    async def logs(
        self, id: str, *, after: str | None = None, limit: int | None = None, source: LogSource | None = None
    ) -> types.LogsEnvelope:
        return await self._api.get_agent_logs(id, after=after, limit=limit, source=source)

    def follow_logs(
        self, id: str, *, after: str | None = None, source: LogSource | None = None
    ) -> AsyncGenerator[ServerEvent, None]:
        """The log as it grows: events `log`, `state`, `gap` and at last `end`, over broken connections.

        `id` of an event is the place to go on after. Without `after` it begins with the newest lines.
        """
        return followed(lambda place: self._api.stream_get_agent_logs(id, source=source, last_event_id=place), after)

    def events(self, id: str, *, after: str | None = None) -> AsyncGenerator[types.LoggedEvent, None]:
        """The events of the last thirty days that came after the one with this id, oldest first."""
        return AsyncEventCalls(self._api).list(id, after=after)
