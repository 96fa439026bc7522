"""The driver for n8n: a turn is one call of the agent's chat trigger, whose answer is a stream of pieces.
Seen in real runs: an `error` of any node may be among the pieces, also of a tool whose failure the model sees and
handles. The stream ends without a sign of success or failure. So n8n_parts/agent.cjs adds a verdict at the end, and
ends the execution if the caller disconnects.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import aiohttp

from agents.engines.base import EngineError, ModelError, Turns
from agents.engines.http import HttpDriver
from agents.engines.n8n_workflow import AGENT, AGENT_ID, MODEL

Json = dict[str, Any]

HEADER = "X-Agentpods-Password"
CHECK_PATH = "/agentpods/agent"
CHAT_PATH = f"/webhook/{AGENT_ID}/chat"
# When a changed workflow replaces the old one, there is no workflow for a moment, so a call is tried again.
TRIES = 5
WAIT_SECONDS = 0.3
# An aborted turn is over after this time.
ABORT_SECONDS = 1.0
MAX_PIECE_BYTES = 64 * 1024 * 1024
_BETWEEN_TEXTS = "\n\n"


class N8nDriver(HttpDriver):
    def __init__(self, process: asyncio.subprocess.Process, *, port: int, password: str) -> None:
        base = f"http://127.0.0.1:{port}"
        super().__init__(process, base_url=base, health="/healthz/readiness", headers={HEADER: password})
        # conversations whose last turn was aborted, and the time at which that turn is over
        self._ending: dict[str, float] = {}

    async def settle(self) -> None:
        """Wait until n8n is healthy, then check that it has loaded the agent's workflow, which comes later. Raises
        EngineError.
        """
        await super().settle()
        async with self._session.get(CHECK_PATH) as answer:
            said = await answer.json(content_type=None)
            if answer.status != 200 or not said.get("agent"):
                raise EngineError(str(said.get("error") or "n8n did not take the agent's workflow"))

    def conversation(self, session: str) -> Turns:
        return _N8nConversation(self, session)

    async def wind_down(self) -> None:
        """n8n waits for running turns before it ends. These turns have failed and their connections are closed, so wait
        until n8n has noticed this.
        """
        await self._until(max(self._ending.values(), default=0.0))

    async def ended(self, session: str) -> None:
        await self._until(self._ending.pop(session, 0.0))

    def aborted(self, session: str) -> None:
        self._ending[session] = asyncio.get_running_loop().time() + ABORT_SECONDS

    async def pieces(self, session: str, message: str) -> AsyncGenerator[Json, None]:
        body = {"action": "sendMessage", "sessionId": session, "chatInput": message}
        for left in reversed(range(TRIES)):
            async with self._session.post(CHAT_PATH, json=body) as answer:
                if answer.status == 404 and left:
                    await asyncio.sleep(WAIT_SECONDS)
                    continue
                if answer.status != 200:
                    raise await _refusal(answer)
                async for piece in _lines(answer.content):
                    yield piece
                return

    async def while_alive(self, pieces: AsyncGenerator[Json, None]) -> AsyncGenerator[Json, None]:
        async with aclosing(self._while_alive(pieces)) as living:
            async for piece in living:
                yield piece

    async def _until(self, moment: float) -> None:
        await asyncio.sleep(max(moment - asyncio.get_running_loop().time(), 0.0))

    def _says_healthy(self, body: bytes) -> bool:
        return body == b'{"status":"ok"}'


class _N8nConversation:
    def __init__(self, driver: N8nDriver, session: str) -> None:
        self._driver = driver
        self._session = session
        self._text = ""

    async def turn(self, message: str) -> AsyncGenerator[str, None]:
        await self._driver.ended(self._session)
        self._text = ""
        finished = False
        try:
            async with aclosing(self._driver.while_alive(self._driver.pieces(self._session, message))) as pieces:
                async for text in self._texts(pieces):
                    yield text
            finished = True
        except ModelError:
            finished = True
            raise
        finally:
            if not finished:
                self._driver.aborted(self._session)

    def reply(self) -> str:
        return self._text

    async def _texts(self, pieces: AsyncIterator[Json]) -> AsyncIterator[str]:
        """Yield text as it arrives. The model may write, use a tool and write again; between the texts an empty line is
        added.
        """
        between, verdict = "", None
        async for piece in pieces:
            match piece.get("type"):
                case "begin":
                    between = _BETWEEN_TEXTS if self._text else ""
                case "item" if piece.get("content"):
                    text = between + str(piece["content"])
                    between = ""
                    self._text += text
                    yield text
                case "verdict":
                    verdict = piece
        _judge(verdict, self._text)


def _judge(verdict: Json | None, text: str) -> None:
    if verdict is None:
        raise EngineError("the engine broke off in the middle of the turn")
    if error := verdict.get("error"):
        said = str(error.get("message") or "the turn failed")
        raise ModelError(said) if error.get("node") in {AGENT, MODEL} else EngineError(said)
    if verdict.get("status") != "success":
        raise EngineError(f"the turn ended as {verdict.get('status')!r}")
    if not text.strip():
        raise ModelError("the model ended the turn without a word")


async def _lines(stream: aiohttp.StreamReader) -> AsyncIterator[Json]:
    """The JSON of each line, of any length up to MAX_PIECE_BYTES. Raises EngineError."""
    rest = b""
    async for chunk in stream.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > MAX_PIECE_BYTES:
            raise EngineError("the engine sends a piece without an end")
        for line in lines:
            if line.strip():
                yield json.loads(line)
    if rest.strip():
        raise EngineError("the engine broke off in the middle of the turn")


async def _refusal(answer: aiohttp.ClientResponse) -> EngineError:
    try:
        said = await answer.json(content_type=None)
        text = said.get("error") or said.get("message")
    except (ValueError, AttributeError):
        text = None
    return EngineError(str(text or f"the engine answered {answer.status}"))
