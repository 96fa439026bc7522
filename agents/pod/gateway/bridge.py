"""The gateway's client for the bridge's HTTP server: state, configuration, turns and the rest."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from agents.pod.turns.events import Done, EventReader, TurnEvent
from agents.pod.turns.failures import EngineError, Hop
from agents.runtimes.base import Phase, PodConfig

STATE_SECONDS = 2.0
STATE_AGE_SECONDS = 0.5
CONFIGURE_SECONDS = 20.0
CHANNELS_SECONDS = 8.0
MESSAGE_SECONDS = 6.5
CHANNELS_BYTES = 64 * 1024
MEMORY_SECONDS = 12.0
MEMORY_BYTES = 4 * 1024 * 1024
BACKUP_SECONDS = 10.0
BACKUP_BYTES = 64 * 1024
STATE_BYTES = 256 * 1024
REFUSAL_BYTES = 64 * 1024
BROKE_OFF = "the engine broke off in the middle of the turn"


@dataclass(frozen=True, slots=True)
class BridgeState:
    phase: Phase
    revision: int | None
    message: str | None
    raw: dict[str, Any]

    @property
    def ready(self) -> bool:
        return self.phase == Phase.READY

    @property
    def restarts(self) -> int:
        """How often the engine was started again since the bridge started."""
        said = self.raw.get("restarts")
        return said if isinstance(said, int) else 0


@dataclass(frozen=True, slots=True)
class ChannelStates:
    """For each channel the reason why nobody can reach the agent there (None = it is connected). `unsaid` is the reason
    if the engine did not answer.
    """

    reasons: dict[str, str | None]
    unsaid: str | None


class Bridge:
    def __init__(self, session: aiohttp.ClientSession, *, url: str, token: str) -> None:
        self._session = session
        self._url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"}
        self._asking = asyncio.Lock()
        self._state: BridgeState | None = None
        self._asked_at = float("-inf")

    async def state(self, *, age: float = STATE_AGE_SECONDS) -> BridgeState | None:
        """The engine's state, at most `age` seconds old; None while the bridge does not answer."""
        async with self._asking:
            if time.monotonic() - self._asked_at >= age:
                self._state = await self._ask()
                self._asked_at = time.monotonic()
            return self._state

    async def _ask(self) -> BridgeState | None:
        try:
            async with self._asked("GET", "state", seconds=STATE_SECONDS) as answer:
                raw = await _object(STATE_BYTES, answer)
            return BridgeState(Phase(raw["phase"]), raw.get("revision"), raw.get("message"), raw)
        except (EngineError, KeyError, ValueError):
            return None

    async def channels(self) -> ChannelStates:
        """The state of each channel. Raises EngineError."""
        async with self._asked("GET", "channels", seconds=CHANNELS_SECONDS) as answer:
            return _states(await _object(CHANNELS_BYTES, answer))

    async def take_message(self, message: dict[str, Any]) -> bool:
        """Pass a message of a channel to the engine. Returns True when the turn of the message is over. Raises
        EngineError.
        """
        async with self._asked(
            "PUT", "message", seconds=MESSAGE_SECONDS, body=message, fault="did not accept it"
        ) as answer:
            return (await _object(BACKUP_BYTES, answer)).get("is_over") is True

    async def memory(self) -> bytes:
        """What the engine has learned, as the bridge's JSON. Raises EngineError."""
        async with self._asked("GET", "memory", seconds=MEMORY_SECONDS) as answer:
            return await _at_most(MEMORY_BYTES, answer)

    async def order(self, what: str, order: dict[str, Any]) -> dict[str, Any]:
        """Start a backup or a restore, or get its progress. Raises EngineError."""
        async with self._asked("PUT", what, seconds=BACKUP_SECONDS, body=order) as answer:
            return await _object(BACKUP_BYTES, answer)

    async def configure(self, config: PodConfig) -> None:
        """Send a configuration to the bridge. When this returns, the bridge has it but has not applied it yet. Raises
        EngineError.
        """
        body = dataclasses.asdict(config)
        async with self._asked("PUT", "config", seconds=CONFIGURE_SECONDS, body=body, fault="does not answer"):
            self._asked_at = float("-inf")

    async def restart(self) -> bool:
        """Have the engine started again. False while it does not run. Raises EngineError."""
        async with self._asked("POST", "restart", seconds=STATE_SECONDS) as answer:
            self._asked_at = float("-inf")
            return (await _object(BACKUP_BYTES, answer)).get("restarting") is True

    async def turn(self, session_id: str, message: str) -> AsyncGenerator[TurnEvent, None]:
        """The events of one turn, with one Done at the end. Closing the iterator aborts the turn. Raises HopFailure."""
        body, reader = {"session_id": session_id, "message": message}, EventReader(Hop.ENGINE, broken=BROKE_OFF)
        async with self._asked("POST", "turn", seconds=None, body=body, fault="broke off") as answer:
            async for line in answer.content:
                if line.strip() and (event := reader.read(json.loads(line))):
                    yield event
                    if isinstance(event, Done):
                        return
        raise reader.broken

    @asynccontextmanager
    async def _asked(
        self,
        method: str,
        path: str,
        *,
        seconds: float | None,
        body: dict[str, Any] | None = None,
        fault: str = "gives no answer",
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """One call, with the reading of its answer. Raises EngineError if the bridge refuses, takes longer than
        `seconds`, breaks off, or answers something else than JSON.
        """
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=5)
        try:
            async with self._session.request(
                method, f"{self._url}/{path}", json=body, headers=self._headers, timeout=timeout
            ) as answer:
                if answer.status >= 300:
                    raise EngineError(await _refusal(answer))
                yield answer
        except (aiohttp.ClientError, TimeoutError, ValueError, RecursionError) as error:
            raise EngineError(f"the engine's bridge {fault} ({type(error).__name__})") from error


def _states(body: dict[str, Any]) -> ChannelStates:
    """Raises ValueError if the body has another form."""
    said, unsaid = body.get("channels"), body.get("unsaid")
    if not isinstance(said, dict) or not all(isinstance(one, str | None) for one in (*said.values(), unsaid)):
        raise ValueError("channels")
    return ChannelStates(said, unsaid)


async def _object(limit: int, answer: aiohttp.ClientResponse) -> dict[str, Any]:
    said = json.loads(await _at_most(limit, answer))
    if not isinstance(said, dict):
        raise EngineError("the engine's bridge gave an unknown answer")
    return said


async def _at_most(limit: int, answer: aiohttp.ClientResponse) -> bytes:
    """The body of the answer. The limit is needed because the bridge is in the engine's container, where any program
    may answer.
    """
    raw = bytearray()
    async for piece in answer.content.iter_any():
        raw += piece
        if len(raw) > limit:
            raise EngineError(f"the engine's bridge answered more than {limit} bytes")
    return bytes(raw)


async def _refusal(answer: aiohttp.ClientResponse) -> str:
    """The reason that the bridge gives for refusing a request."""
    try:
        body = json.loads(await _at_most(REFUSAL_BYTES, answer))
    except (ValueError, RecursionError):
        body = None
    said = body.get("message") if isinstance(body, dict) else None
    return str(said) if said else f"the bridge answered {answer.status}"
