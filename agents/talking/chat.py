"""One turn of a conversation with an agent. The reply always comes from the engine; without a model key it is empty."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from prometheus_client import Counter

from accounts.models import ApiKey
from agents.errors import HopFailed, WrongState
from agents.models import Agent, Desired, Status
from agents.pod import session_ids
from agents.pod.turns.failures import Hop, HopFailure
from agents.running import pods
from agents.runtimes import current_runtime, turns
from agents.runtimes.base import Access, Endpoint
from agents.runtimes.turns import ChatReply
from agents.spending import key_turns
from agents.talking import turn_spans
from config import waiting
from config.errors import BadRequest, Unavailable

MAX_MESSAGE_BYTES = 65_536
# How long a turn waits for a key that was installed just before it.
KEY_SECONDS = 10.0
KEY_STEP_SECONDS = 0.2

TURNS = Counter("agentpods_turns", "Turns with agents: how each ended, and the hop that failed.", ["hop", "outcome"])

TurnEvents = turns.Events


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurn:
    """A turn that has a place among the waiting calls. It begins with `reply` or with `events`, on an event loop."""

    endpoint: Endpoint
    access: Access
    message: str
    session_id: str | None
    awaits_key: bool
    api_key: Mapping[str, Any] | None  # what the gateway needs to know of the API key that started the turn
    leave: Callable[[], None]
    """Gives the place back. To be called at the end, even if the turn never began."""

    async def reply(self) -> ChatReply:
        """Give the message to the engine and wait for its reply. Raises HopFailed naming the hop."""
        with _counted(), _failures():
            await self._key()
            with turn_spans.traced(self.endpoint, self.access) as trace:
                return await turns.reply(
                    self.endpoint,
                    self.access,
                    message=self.message,
                    session_id=self.session_id,
                    api_key=self.api_key,
                    trace=trace,
                )

    async def events(self) -> TurnEvents:
        """The same turn as events, with one Done at the end. The first is None: the turn has begun. What fails before
        raises HopFailed; later it raises HopFailure.

        Closing the generator ends the turn.
        """
        with _counted(), turn_spans.traced(self.endpoint, self.access) as trace:
            turn = turns.events(
                self.endpoint,
                self.access,
                message=self.message,
                session_id=self.session_id,
                api_key=self.api_key,
                trace=trace,
            )
            async with aclosing(turn):
                with _failures():
                    await self._key()
                    yield await anext(turn)
                async for event in turn:
                    yield event

    async def _key(self) -> None:
        if self.awaits_key:
            await await_key(self.endpoint, self.access)


def begin(agent: Agent, *, message: str, session_id: str | None = None, key: ApiKey | None = None) -> ChatTurn:
    """Take a place for a turn with the agent. `key` is the API key that starts it.

    Raises BadRequest, WrongState unless the agent runs, HopFailed without an address, KeyLimitReached, and Unavailable
    when too many calls wait.
    """
    endpoint = _endpoint(agent, message, session_id)
    access, awaits_key = pods.access_of(agent), agent.llm_key_hash is not None
    api_key = key_turns.begin(key, agent=agent, now=timezone.now())
    try:
        leave = waiting.turns.hold(agent.user_id)
    except Unavailable:
        TURNS.labels("none", "refused").inc()
        raise
    return ChatTurn(
        endpoint=endpoint,
        access=access,
        message=message,
        session_id=session_id,
        awaits_key=awaits_key,
        api_key=api_key,
        leave=leave,
    )


@contextmanager
def _counted() -> Iterator[None]:
    """Count the turn inside this block. A client that hangs up early has `left` it."""
    hop, outcome = "none", "failed"
    try:
        yield
        outcome = "answered"
    except (HopFailed, HopFailure) as failure:
        hop = failure.hop
        raise
    except (GeneratorExit, asyncio.CancelledError):
        outcome = "left"
        raise
    finally:
        TURNS.labels(hop, outcome).inc()


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except HopFailure as failure:
        raise HopFailed(failure.hop, failure.message, retry_after=failure.retry_after) from failure


async def await_key(endpoint: Endpoint, access: Access) -> None:
    """Wait until the gateway has the key that was installed just before. Raises HopFailure when it does not arrive in
    time.

    This is checked before the turn: an empty reply does not tell whether the engine was asked, and a turn is never
    repeated.
    """
    until = time.monotonic() + KEY_SECONDS
    while not await turns.has_key(endpoint, access):
        if time.monotonic() > until:
            raise HopFailure(Hop.GATEWAY, "the model key has not reached the pod yet")
        await asyncio.sleep(KEY_STEP_SECONDS)


def _endpoint(agent: Agent, message: str, session_id: str | None) -> Endpoint:
    """The address of the agent's gateway. Raises BadRequest for a bad message or session id, WrongState, and HopFailed
    when there is no address."""
    if not message.strip():
        raise BadRequest("message: must be text that is not blank")
    if len(message.encode()) > MAX_MESSAGE_BYTES:
        raise BadRequest(f"message: more than {MAX_MESSAGE_BYTES} bytes")
    if session_id is not None and not session_ids.is_permitted(session_id):
        raise BadRequest(f"sessionId: must be {session_ids.PERMITTED}")
    if agent.desired == Desired.STOPPED:
        paused = "stopped" if agent.status == Status.STOPPED else "being stopped"
        raise WrongState("chat", paused, f"POST /agents/{agent.id}/resume starts it")
    if agent.status != Status.RUNNING:
        hint = f"POST /agents/{agent.id}/rebuild builds it again"
        raise WrongState("chat", agent.status, hint if agent.status == Status.FAILED else "wait until it is running")
    endpoint = current_runtime().endpoint(agent.namespace)
    if endpoint is None:
        TURNS.labels(Hop.GATEWAY, "failed").inc()
        raise HopFailed(Hop.GATEWAY, "the pod has no address at the moment")
    return endpoint
