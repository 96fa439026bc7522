"""`POST /talk-test`: sends one message through every hop (gateway, engine, model, channels), so that the owner sees
which hop does not work, and why.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

import aiohttp
from aiohttp import web

from agents.pod.gateway.bridge import Bridge
from agents.pod.gateway.pod import Pod
from agents.pod.gateway.spending.key_limits import KeyState
from agents.pod.gateway.spending.open_turns import TurnKind
from agents.pod.gateway.turns import GatewayTurns
from agents.pod.masking import mask_text
from agents.pod.turns.events import Done
from agents.pod.turns.failures import EngineError, Hop, HopFailure, ModelError

# A healthy model answers with one word within seconds, and a person is waiting for the result.
TURN_SECONDS = 60.0
PAGE_SECONDS = 5.0
MESSAGE = "This is a connection test. Answer with the single word: pong"
NO_KEY = "no model key is installed; PATCH /agents/{id}/llm-key installs one"
_WEB = "web"


@dataclass(slots=True)
class HopResult:
    """The result of one hop. `ms` is None if the hop was not tried."""

    hop: str
    ok: bool = False
    ms: int | None = None
    error: str | None = None


class PodTalkTest:
    def __init__(self, pod: Pod, bridge: Bridge, turns: GatewayTurns, session: aiohttp.ClientSession) -> None:
        self._pod = pod
        self._bridge = bridge
        self._turns = turns
        self._session = session

    async def answer(self, *, key: KeyState | None = None) -> web.Response:
        """`key` is the API key that asked for the test."""
        hops = await self._run(key)
        return web.json_response({"hops": [self._wire(hop) for hop in hops]})

    async def _run(self, key: KeyState | None) -> list[HopResult]:
        """Test gateway, engine and model, then each channel. If the engine does not work, the hops behind it are not
        tried.
        """
        gateway, engine, model = HopResult(Hop.GATEWAY, ok=True, ms=0), HopResult(Hop.ENGINE), HopResult(Hop.MODEL)
        channels = [HopResult(name) for name in self._pod.config.channels]
        async with _timed(engine):
            await self._health()
        if engine.ok:
            await self._turn({Hop.GATEWAY: gateway, Hop.ENGINE: engine, Hop.MODEL: model}, key)
        if engine.ok:
            await self._channels(channels)
        for hop in (model, *channels):
            if hop.ms is None and hop.error is None:
                hop.error = f"not tried: the {Hop.GATEWAY if engine.ok else Hop.ENGINE} is silent"
        return [gateway, engine, model, *channels]

    async def _health(self) -> None:
        state = await self._bridge.state(age=0)
        if state is None:
            raise EngineError("the engine's bridge does not answer")
        if not state.ready:
            cause = state.raw.get("cause")
            reason = state.message or f"the engine is {state.phase}"
            raise EngineError(f"{cause}: {reason}" if cause else reason)

    async def _turn(self, hops: dict[Hop, HopResult], key: KeyState | None) -> None:
        """Run a real turn in a new conversation. It can show that an engine does not work although its state looks
        healthy.
        """
        model = hops[Hop.MODEL]
        if not self._pod.has_key:
            model.error = NO_KEY
            return
        started = time.monotonic()
        failure = await self._failure(key)
        model.ok = failure is None
        if failure:
            hops[failure.hop].ok, hops[failure.hop].error = False, failure.message
        if failure is None or failure.hop is Hop.MODEL:
            model.ms = _milliseconds(started)

    async def _failure(self, key: KeyState | None) -> HopFailure | None:
        try:
            turn = self._turns.take(MESSAGE, _session_id(), kind=TurnKind.TEST, key=key)
            async with asyncio.timeout(TURN_SECONDS), aclosing(turn) as events:
                async for event in events:
                    if isinstance(event, Done):
                        return None if event.reply.strip() else ModelError("the model said nothing")
        except HopFailure as failure:
            return failure
        except TimeoutError:
            return HopFailure(self._turns.slow_hop(), f"no answer within {TURN_SECONDS:.0f} s")
        return EngineError("the engine ended the turn without an answer")

    async def _channels(self, channels: list[HopResult]) -> None:
        started = time.monotonic()
        try:
            reasons = (await self._bridge.channels()).reasons
        except EngineError as error:
            reasons = {channel.hop: str(error) for channel in channels}
        asked = time.monotonic() - started
        for channel in channels:
            async with _timed(channel, already=asked):
                if reason := reasons.get(channel.hop, "the engine does not connect to it"):
                    raise EngineError(reason)
                if channel.hop == _WEB:
                    await self._page()

    async def _page(self) -> None:
        """Test the web channel, which is the gateway's own public listener. It refuses all visitors while the engine is
        not ready.
        """
        start = self._pod.start
        try:
            async with (
                asyncio.timeout(PAGE_SECONDS),
                self._session.get(f"http://{start.host}:{start.public_port}/", allow_redirects=False) as answer,
            ):
                status = answer.status
        except (aiohttp.ClientError, TimeoutError) as error:
            raise HopFailure(Hop.GATEWAY, f"the pod's page does not answer ({type(error).__name__})") from error
        if status >= 500:
            raise HopFailure(Hop.GATEWAY, f"the pod's page answers {status}")

    def _wire(self, hop: HopResult) -> dict[str, object]:
        error = mask_text(hop.error, self._pod.secret_texts()) if hop.error else None
        return {"hop": hop.hop, "ok": hop.ok, "ms": hop.ms, "error": error}


@asynccontextmanager
async def _timed(hop: HopResult, *, already: float = 0.0) -> AsyncIterator[None]:
    started = time.monotonic()
    try:
        yield
        hop.ok = True
    except HopFailure as silence:
        hop.error = str(silence)
    hop.ms = _milliseconds(started - already)


def _milliseconds(since: float) -> int:
    return round((time.monotonic() - since) * 1000)


def _session_id() -> str:
    """The id of a new conversation, so that earlier messages cannot change the answer."""
    return f"talk-test-{secrets.token_hex(6)}"
