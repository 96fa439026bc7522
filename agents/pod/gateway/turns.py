"""Turns of conversations: one after the other within a session, at the same time across sessions, each
with a deadline.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

from agents.pod.gateway.bridge import Bridge, BridgeState
from agents.pod.gateway.llm.log import ModelLog
from agents.pod.gateway.pod import Pod
from agents.pod.gateway.reasons import FailureReason, of_model
from agents.pod.gateway.replay.recorder import ReplayRecorder, TurnNote
from agents.pod.gateway.spending.key_limits import KeyState, KnownKeys
from agents.pod.gateway.spending.open_turns import OpenTurns, TurnKind
from agents.pod.turns.events import Done, PartGiven, TurnEvent
from agents.pod.turns.failures import EngineError, Hop, HopFailure, ModelError
from agents.runtimes.base import Phase

DEADLINE_SECONDS = 110.0
# If the engine is still applying its newest configuration, a turn waits this long for it.
SETTLE_SECONDS = 20.0
SETTLE_STEP_SECONDS = 0.3
TURNS_AT_ONCE = 64


def new_session_id() -> str:
    return f"ses_{secrets.token_hex(12)}"


class GatewayTurns:
    def __init__(
        self,
        pod: Pod,
        bridge: Bridge,
        models: ModelLog,
        open_turns: OpenTurns,
        replay: ReplayRecorder,
        keys: KnownKeys,
    ) -> None:
        self._pod = pod
        self._open_turns = open_turns
        self._replay = replay
        self._keys = keys
        self._bridge = bridge
        self._models = models
        self._lanes: dict[str, _SessionLock] = {}
        self._running = 0
        self._deadlines: list[float] = []

    async def take(
        self,
        message: str,
        session_id: str,
        *,
        kind: TurnKind = TurnKind.CHAT,
        key: KeyState | None = None,
        marks: Iterable[str] = (),
    ) -> AsyncGenerator[TurnEvent, None]:
        """Run a turn: the engine's answer as it arrives, with one Done at the end. Raises HopFailure. Without a model
        key, no engine is asked and the answer is empty. `key` is the API key that started the turn,
        `marks` are those of the keys for which a peer asks.
        """
        if not self._pod.has_key:
            yield Done("", session_id)
            return
        if key:
            self._keys.take(key)
        api_keys = (key.id,) if key else self._keys.marked(marks, self._pod.secrets.a2a_token)
        with self._replay.turn(kind, session_id, message) as note:
            async with aclosing(self._take(message, session_id, kind, api_keys, note)) as events:
                async for event in events:
                    if isinstance(event, Done):
                        note.answered, note.is_over = event.reply, True
                    yield event

    async def _take(
        self, message: str, session_id: str, kind: TurnKind, api_keys: tuple[str, ...], note: TurnNote
    ) -> AsyncGenerator[TurnEvent, None]:
        deadline = asyncio.get_running_loop().time() + DEADLINE_SECONDS
        async with self._place(session_id, deadline), aclosing(self._run(message, session_id, deadline)) as events:
            self._deadlines.append(deadline)
            try:
                with self._open_turns.turn(kind, session_id, note.id, api_keys):
                    async for event in events:
                        yield event
            finally:
                self._deadlines.remove(deadline)

    def marks(self, token: str | None) -> list[str]:
        """The marks of the API keys whose turns are open, for the peer that takes this token."""
        return self._keys.marks(self._open_turns.api_keys, token) if token else []

    def seconds_left(self) -> float | None:
        """Seconds until the last of the running turns must end; None if no turn is running."""
        return max(self._deadlines) - asyncio.get_running_loop().time() if self._deadlines else None

    @asynccontextmanager
    async def _place(self, session_id: str, deadline: float) -> AsyncIterator[None]:
        """Take one of the pod's places for turns, then wait until this session is free. Raises HopFailure."""
        if self._running >= TURNS_AT_ONCE:
            crowded = f"{TURNS_AT_ONCE} turns are running or waiting; try again in a moment"
            raise HopFailure(Hop.GATEWAY, crowded, reason=FailureReason.CROWDED)
        self._running += 1
        lane = self._lanes.setdefault(session_id, _SessionLock())
        lane.users += 1
        try:
            await _enter(lane, deadline)
            try:
                yield
            finally:
                lane.lock.release()
        finally:
            self._running -= 1
            lane.users -= 1
            if not lane.users:
                del self._lanes[session_id]

    async def _run(self, message: str, session_id: str, deadline: float) -> AsyncGenerator[TurnEvent, None]:
        with self._models.timings.part("engine"):
            async with aclosing(self._ask(message, session_id, deadline)) as events:
                async for event in events:
                    yield event

    async def _ask(self, message: str, session_id: str, deadline: float) -> AsyncGenerator[TurnEvent, None]:
        started = time.monotonic()
        await self._settled(deadline)
        try:
            async with aclosing(self._bridge.turn(session_id, message)) as events:
                is_silent = True
                while True:
                    async with asyncio.timeout_at(deadline):
                        event = await anext(events)
                    if isinstance(event, Done):
                        if is_silent:
                            self._refuse_silence(event.reply, started)
                        yield replace(event, session_id=session_id)
                        return
                    is_silent = is_silent and not isinstance(event, PartGiven)
                    yield event
        except HopFailure as failure:
            raise self._failure(failure, started) from failure
        except TimeoutError as error:
            hop = self.slow_hop()
            late = HopFailure(hop, f"the {hop} did not finish the turn within {DEADLINE_SECONDS:.0f} s")
            raise self._failure(late, started) from error

    async def _settled(self, deadline: float) -> None:
        """Wait while the engine is applying a configuration. Raises HopFailure if it is not ready afterwards."""
        loop = asyncio.get_running_loop()
        until = min(deadline, loop.time() + SETTLE_SECONDS)
        state = await self._bridge.state(age=0)
        while self._settling(state) and loop.time() < until:
            await asyncio.sleep(SETTLE_STEP_SECONDS)
            state = await self._bridge.state(age=0)
        if state is None:
            raise EngineError("the engine's bridge does not answer")
        if not state.ready:
            raise EngineError(state.message or f"the engine is {state.phase}")

    def _settling(self, state: BridgeState | None) -> bool:
        """Whether the engine is changing from one configuration to the next. An engine that failed is
        not waited for.
        """
        if state is None or (state.revision or 0) >= self._pod.config.revision:
            return False
        return state.phase in {Phase.STARTING, Phase.READY}

    def _refuse_silence(self, reply: str, started: float) -> None:
        """Some engines end a turn with an empty answer when the model refused. Raises ModelError, because this is a
        failure and not an answer.
        """
        if not reply.strip() and self._models.failure_since(started):
            raise ModelError("the model did not answer")

    def _failure(self, failure: HopFailure, started: float) -> HopFailure:
        """The failure of a turn. If a model call failed in this turn, its reason is used, because the key proxy knows
        it better than the engine.
        """
        seen = self._models.failure_since(started)
        if seen is None:
            return failure
        return HopFailure(Hop.MODEL, seen.message, reason=of_model(seen), retry_after=seen.retry_after)

    def slow_hop(self) -> Hop:
        """The hop that delays a turn which does not end."""
        return Hop.MODEL if self._models.in_flight else Hop.ENGINE


class _SessionLock:
    """One session: its lock, and how many turns run or wait in it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0


async def _enter(lane: _SessionLock, deadline: float) -> None:
    try:
        async with asyncio.timeout_at(deadline):
            await lane.lock.acquire()
    except TimeoutError as error:
        raise EngineError("an earlier turn of this session did not end in time") from error
