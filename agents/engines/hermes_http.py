"""The driver for hermes' API server: chat completions as a stream, with one hermes session for each conversation."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import aiohttp

from agents.engines import hermes_channels
from agents.engines.base import EngineError, ModelError, Turns
from agents.engines.http import HttpDriver

Json = dict[str, Any]
# hermes sees within a second that a caller has disconnected (hermes_start.py). Then it ends the model call and keeps
# the text so far.
ABORT_SECONDS = 2.0
_DONE = b"[DONE]"


class HermesDriver(HttpDriver):
    def __init__(
        self, process: asyncio.subprocess.Process, *, port: int, key: str, home: Path, app_secret: str
    ) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        super().__init__(process, base_url=f"http://127.0.0.1:{port}", health="/health", headers=headers)
        self._home = home
        self._app_secret = app_secret
        # conversations whose last turn was aborted, and the time at which that turn is over
        self._ending: dict[str, float] = {}

    def conversation(self, session: str) -> Turns:
        return _HermesConversation(self, f"web-{session}")

    async def channels(self) -> dict[str, str | None]:
        async with self._session.get("/health/detailed") as answer:
            report: Json = await answer.json()
        # The report is a file that may be from an earlier process.
        ours = report.get("pid") == self._process.pid
        if not ours:
            return {}
        return hermes_channels.states(report.get("platforms") or {}, hears_whatsapp=bool(self._app_secret))

    async def take_message(self, channel: str, *, name: str, body: str) -> bool:
        if channel != "whatsapp":
            return await super().take_message(channel, name=name, body=body)
        raw = body.encode()
        signature = hmac.new(self._app_secret.encode(), raw, hashlib.sha256).hexdigest()
        headers = {"X-Hub-Signature-256": f"sha256={signature}", hermes_channels.MESSAGE_HEADER: name}
        try:
            async with self._session.post(self._webhook(), data=raw, headers=headers) as answer:
                said = await answer.text()
        except aiohttp.ClientError as error:
            raise EngineError(f"the engine does not take messages of whatsapp ({type(error).__name__})") from error
        if answer.status != 200:
            raise EngineError(f"the engine answered {answer.status} to a message of whatsapp")
        return said == "over"

    def _webhook(self) -> str:
        try:
            port = int((self._home / hermes_channels.WEBHOOK_PORT).read_text())
        except (OSError, ValueError) as error:
            raise EngineError("the engine does not listen for messages of whatsapp yet") from error
        return f"http://127.0.0.1:{port}{hermes_channels.WEBHOOK_PATH}"

    async def wind_down(self) -> None:
        """hermes does not end while a turn runs. The turns have failed and their connections are closed, so wait until
        hermes has noticed this.
        """
        await self._until(max(self._ending.values(), default=0.0))

    async def ended(self, session: str) -> None:
        """Wait for the end of an aborted turn. Otherwise the next turn would not see the text of the aborted one."""
        await self._until(self._ending.pop(session, 0.0))

    def aborted(self, session: str) -> None:
        self._ending[session] = asyncio.get_running_loop().time() + ABORT_SECONDS

    async def events(self, session: str, message: str) -> AsyncGenerator[Json, None]:
        """Yield the chunks of one turn."""
        body = {"model": "agent", "stream": True, "messages": [{"role": "user", "content": message}]}
        headers = {"X-Hermes-Session-Id": session}
        async with self._session.post("/v1/chat/completions", json=body, headers=headers) as answer:
            if answer.status != 200:
                raise await _refusal(answer)
            async for event in _events(answer.content):
                yield event

    async def while_alive(self, events: AsyncGenerator[Json, None]) -> AsyncGenerator[Json, None]:
        async with aclosing(self._while_alive(events)) as living:
            async for event in living:
                yield event

    async def _until(self, moment: float) -> None:
        await asyncio.sleep(max(moment - asyncio.get_running_loop().time(), 0.0))

    def _says_healthy(self, body: bytes) -> bool:
        return b"hermes-agent" in body


class _HermesConversation:
    def __init__(self, driver: HermesDriver, session: str) -> None:
        self._driver = driver
        self._session = session
        self._text = ""

    async def turn(self, message: str) -> AsyncGenerator[str, None]:
        await self._driver.ended(self._session)
        self._text = ""
        finished = False
        try:
            async with aclosing(self._driver.while_alive(self._driver.events(self._session, message))) as events:
                async for piece in self._pieces(events):
                    yield piece
            finished = True
        except ModelError:
            finished = True
            raise
        finally:
            if not finished:
                self._driver.aborted(self._session)

    def reply(self) -> str:
        return self._text

    async def _pieces(self, events: AsyncIterator[Json]) -> AsyncIterator[str]:
        """Yield text as it arrives. hermes adds an empty line after the use of a tool, even at the beginning; there it
        is removed.
        """
        verdict = None
        async for event in events:
            piece = _delta(event) if self._text else _delta(event).lstrip("\n")
            if piece:
                self._text += piece
                yield piece
            verdict = _finish(event) or verdict
        _judge(verdict, self._text)


async def _events(stream: aiohttp.StreamReader) -> AsyncIterator[Json]:
    """The JSON of server-sent events. Each is one line of data of any length; comments and event names are left out."""
    rest = b""
    async for chunk in stream.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            data = line.removeprefix(b"data:").strip()
            if line.startswith(b"data:") and data != _DONE:
                yield json.loads(data)


def _choice(event: Json) -> Json:
    choices = event.get("choices") or [{}]
    choice: Json = choices[0]
    return choice


def _delta(event: Json) -> str:
    return str((_choice(event).get("delta") or {}).get("content") or "")


def _finish(event: Json) -> Json | None:
    """The event if it is the last chunk, which contains the verdict."""
    return event if _choice(event).get("finish_reason") else None


def _judge(last: Json | None, text: str) -> None:
    """Raises EngineError or ModelError if the turn has failed: hermes answers 200 also when the model failed."""
    if last is None:
        raise EngineError("the engine broke off in the middle of the turn")
    told = last.get("hermes") or {}
    if told.get("failed") or _choice(last).get("finish_reason") == "error":
        raise ModelError(str(told.get("error") or "the model failed"))
    if not text.strip():
        raise ModelError("the model ended the turn without a word")


async def _refusal(answer: aiohttp.ClientResponse) -> EngineError | ModelError:
    try:
        said = (await answer.json(content_type=None))["error"]["message"]
    except (ValueError, LookupError, TypeError):
        said = f"the engine answered {answer.status}"
    # There is no model, or hermes could not be set up with it.
    return ModelError(str(said)) if answer.status == 500 else EngineError(str(said))
