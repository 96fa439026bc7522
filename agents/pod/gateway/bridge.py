"""The gateway's client for the bridge's HTTP server: state, configuration, turns and the rest."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

import aiohttp

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
_UNREACHABLE = (aiohttp.ClientError, TimeoutError, ValueError)


class BridgeFailure(Exception):
    """The bridge is not reachable, refused the request, or broke off the answer. The text is shown to people."""


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
        timeout = aiohttp.ClientTimeout(total=STATE_SECONDS)
        try:
            async with self._session.get(f"{self._url}/state", headers=self._headers, timeout=timeout) as answer:
                answer.raise_for_status()
                raw: dict[str, Any] = json.loads(await _at_most(STATE_BYTES, answer))
                return BridgeState(Phase(raw["phase"]), raw.get("revision"), raw.get("message"), raw)
        except (*_UNREACHABLE, KeyError, TypeError, AttributeError, RecursionError, BridgeFailure):
            return None

    async def channels(self) -> ChannelStates:
        """The state of each channel. Raises BridgeFailure."""
        timeout = aiohttp.ClientTimeout(total=CHANNELS_SECONDS)
        try:
            async with self._session.get(f"{self._url}/channels", headers=self._headers, timeout=timeout) as answer:
                answer.raise_for_status()
                return _states(json.loads(await _at_most(CHANNELS_BYTES, answer)))
        except (*_UNREACHABLE, KeyError, TypeError, RecursionError) as error:
            raise BridgeFailure(f"the engine's bridge gives no answer ({type(error).__name__})") from error

    async def take_message(self, message: dict[str, Any]) -> bool:
        """Pass a message of a channel to the engine. Returns True when the turn of the message is over. Raises
        BridgeFailure.
        """
        timeout = aiohttp.ClientTimeout(total=MESSAGE_SECONDS)
        try:
            async with self._session.put(
                f"{self._url}/message", json=message, headers=self._headers, timeout=timeout
            ) as answer:
                if answer.status != 200:
                    raise BridgeFailure(await _refusal(answer))
                return json.loads(await _at_most(BACKUP_BYTES, answer)).get("is_over") is True
        except (*_UNREACHABLE, AttributeError) as error:
            raise BridgeFailure(f"the engine's bridge did not accept it ({type(error).__name__})") from error

    async def memory(self) -> bytes:
        """What the engine has learned, as the bridge's JSON. Raises BridgeFailure."""
        timeout = aiohttp.ClientTimeout(total=MEMORY_SECONDS)
        try:
            async with self._session.get(f"{self._url}/memory", headers=self._headers, timeout=timeout) as answer:
                if answer.status != 200:
                    raise BridgeFailure(await _refusal(answer))
                return await _at_most(MEMORY_BYTES, answer)
        except _UNREACHABLE as error:
            raise BridgeFailure(f"the engine's bridge gives no answer ({type(error).__name__})") from error

    async def order(self, what: str, order: dict[str, Any]) -> dict[str, Any]:
        """Start a backup or a restore, or get its progress. Raises BridgeFailure."""
        timeout = aiohttp.ClientTimeout(total=BACKUP_SECONDS)
        try:
            async with self._session.put(
                f"{self._url}/{what}", json=order, headers=self._headers, timeout=timeout
            ) as answer:
                if answer.status != 200:
                    raise BridgeFailure(await _refusal(answer))
                said = json.loads(await _at_most(BACKUP_BYTES, answer))
        except _UNREACHABLE as error:
            raise BridgeFailure(f"the engine's bridge gives no answer ({type(error).__name__})") from error
        if not isinstance(said, dict):
            raise BridgeFailure("the engine's bridge gave an unknown answer")
        return said

    async def configure(self, config: PodConfig) -> None:
        """Send a configuration to the bridge. When this returns, the bridge has it but has not applied it yet. Raises
        BridgeFailure.
        """
        timeout = aiohttp.ClientTimeout(total=CONFIGURE_SECONDS)
        body = dataclasses.asdict(config)
        try:
            async with self._session.put(
                f"{self._url}/config", json=body, headers=self._headers, timeout=timeout
            ) as answer:
                if answer.status >= 300:
                    raise BridgeFailure(f"the bridge answered {answer.status} to the configuration")
        except _UNREACHABLE as error:
            raise BridgeFailure(f"the bridge does not answer ({type(error).__name__})") from error
        self._asked_at = float("-inf")

    async def turn(self, session_id: str, message: str) -> AsyncGenerator[dict[str, Any], None]:
        """The engine's events of one turn. Closing the iterator aborts the turn. Raises BridgeFailure."""
        body = {"session_id": session_id, "message": message}
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=5)
        try:
            async with self._session.post(
                f"{self._url}/turn", json=body, headers=self._headers, timeout=timeout
            ) as answer:
                if answer.status != 200:
                    raise BridgeFailure(await _refusal(answer))
                async for line in answer.content:
                    if line.strip():
                        yield json.loads(line)
        except (*_UNREACHABLE, RecursionError) as error:
            raise BridgeFailure(f"the engine's bridge broke off ({type(error).__name__})") from error


def _states(body: dict[str, Any]) -> ChannelStates:
    """Raises KeyError, TypeError if the body has another form."""
    said, unsaid = body["channels"], body.get("unsaid")
    if not isinstance(said, dict) or not all(isinstance(one, str | None) for one in (*said.values(), unsaid)):
        raise TypeError("channels")
    return ChannelStates(said, unsaid)


async def _at_most(limit: int, answer: aiohttp.ClientResponse) -> bytes:
    """The body of the answer. The limit is needed because the bridge is in the engine's container, where any program
    may answer.
    """
    raw = bytearray()
    async for piece in answer.content.iter_any():
        raw += piece
        if len(raw) > limit:
            raise BridgeFailure(f"the engine's bridge answered more than {limit} bytes")
    return bytes(raw)


async def _refusal(answer: aiohttp.ClientResponse) -> str:
    """The reason that the bridge gives for refusing a request."""
    try:
        body = json.loads(await _at_most(REFUSAL_BYTES, answer))
    except (ValueError, RecursionError):
        body = None
    said = body.get("message") if isinstance(body, dict) else None
    return str(said) if said else f"the bridge answered {answer.status}"
