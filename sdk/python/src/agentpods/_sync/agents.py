# Made from `_async/agents.py`: change that file, then `make sdk`.
"""Agents: their life, their conversations, their log and their events."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import closing
from typing import Unpack

from agentpods._generated import types
from agentpods._generated.calls import Calls
from agentpods._sync.events import EventCalls
from agentpods._sync.following import followed
from agentpods._wire.chat import ChatDone, ChatEvent, chat_event
from agentpods._wire.sse import ServerEvent
from agentpods._wire.watching import AgentWatch, Goal
from agentpods._wire.words import AgentStatus, LogSource
from agentpods.errors import NoAnswerError, NotFoundError, StreamCutError


class AgentCalls:
    """`wait` of a call is at most 60: the seconds in which the service waits until the agent has settled."""

    def __init__(self, api: Calls) -> None:
        self._api = api

    def create(
        self,
        *,
        wait: int | None = None,
        idempotency_key: str | None = None,
        **wanted: Unpack[types.CreateAgentRequest],
    ) -> types.CreatedAgentEnvelope:
        """Create an agent. `webhookSecret` is shown this once. A repeat with the same key makes no second agent."""
        return self._api.create_agent(wanted, wait=wait, idempotency_key=idempotency_key)

    def get(self, id: str) -> types.Agent:
        return (self._api.get_agent(id))["agent"]

    def list(self, *, status: AgentStatus | None = None, fields: str | None = None) -> Generator[types.Agent, None]:
        """All of them, newest first; further pages are read as they are needed."""
        return self._api.each_of_agents(status=status, fields=fields)

    def update(
        self, id: str, *, if_match: str | None = None, **changes: Unpack[types.PatchAgentRequest]
    ) -> types.Agent:
        return (self._api.update_agent(id, changes, if_match=if_match))["agent"]

    def set_llm_key(self, id: str, **given: Unpack[types.LlmKeyRequest]) -> types.Agent:
        return (self._api.update_agent_llm_key(id, given))["agent"]

    def pause(self, id: str, *, wait: int | None = None) -> types.Agent:
        return (self._api.pause_agent(id, wait=wait))["agent"]

    def resume(self, id: str, *, wait: int | None = None) -> types.Agent:
        return (self._api.resume_agent(id, wait=wait))["agent"]

    def rebuild(self, id: str, *, wait: int | None = None) -> types.Agent:
        return (self._api.rebuild_agent(id, wait=wait))["agent"]

    def delete(self, id: str, *, wait: int | None = None) -> None:
        self._api.delete_agent(id, wait=wait)

    def explain(self, id: str) -> types.Explanation:
        """Why it does not answer, and which call helps."""
        return (self._api.explain_agent(id))["explanation"]

    def wait(self, id: str, *, until: Goal = "running", seconds: float = 300.0) -> types.Agent | None:
        """Wait until the agent is `running`, `stopped`, `deleted`, or has `settled` in any status.

        Returns the agent, or None if it was to be deleted and is. Raises NotSettledError if it ends in another status
        or takes longer.
        """
        watch = AgentWatch(until, seconds=seconds)
        while True:
            try:
                agent = (self._api.get_agent(id, wait=watch.next_wait()))["agent"]
            except NotFoundError:
                if until == "deleted":
                    return None
                raise
            if watch.is_over(agent):
                return agent
            time.sleep(watch.pause())

    def chat(self, id: str, message: str, *, session_id: str | None = None) -> types.Reply:
        """Say something and wait for the whole reply. It is empty while no model key is installed."""
        return self._api.chat_with_agent(id, {"message": message, "sessionId": session_id})

    def stream(self, id: str, message: str, *, session_id: str | None = None) -> Generator[ChatEvent, None]:
        """Say something and read the reply while it comes: `ChatDelta`, perhaps `ChatPart`, and `ChatDone` at the end.

        Closing the generator ends the turn. Raises StreamCutError if the stream ends before `ChatDone`.
        """
        events = self._api.stream_chat_with_agent(id, {"message": message, "sessionId": session_id})
        try:
            with closing(events):
                for event in events:
                    told = chat_event(event)
                    if told:
                        yield told
                    if isinstance(told, ChatDone):
                        return
        except NoAnswerError as error:
            raise StreamCutError(f"the stream broke: {error}") from error
        raise StreamCutError("the stream ended before the reply did")

    def logs(
        self, id: str, *, after: str | None = None, limit: int | None = None, source: LogSource | None = None
    ) -> types.LogsEnvelope:
        return self._api.get_agent_logs(id, after=after, limit=limit, source=source)

    def follow_logs(
        self, id: str, *, after: str | None = None, source: LogSource | None = None
    ) -> Generator[ServerEvent, None]:
        """The log as it grows: events `log`, `state`, `gap` and at last `end`, over broken connections.

        `id` of an event is the place to go on after. Without `after` it begins with the newest lines.
        """
        return followed(lambda place: self._api.stream_get_agent_logs(id, source=source, last_event_id=place), after)

    def events(self, id: str, *, after: str | None = None) -> Generator[types.LoggedEvent, None]:
        """The events of the last thirty days that came after the one with this id, oldest first."""
        return EventCalls(self._api).list(id, after=after)
