"""The driver for openclaw's server: chat completions as a stream, with one openclaw session for each conversation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import aiohttp

from agents.engines import openclaw_channels
from agents.engines.base import EngineError, ModelError, Turns
from agents.engines.http import HttpDriver
from agents.engines.whatsapp import WhatsappInbox

Json = dict[str, Any]
# openclaw notices at once that a caller has disconnected, and ends the model call.
ABORT_SECONDS = 1.0
# openclaw applies changed settings about a second after they were written; this is the limit.
RELOAD_SECONDS = 20.0
POLL_SECONDS = 0.1
SETTINGS = "openclaw.json"
PLUGIN_ID = "agentpods"
_DONE = b"[DONE]"


class OpenclawDriver(HttpDriver):
    def __init__(
        self,
        process: asyncio.subprocess.Process,
        *,
        port: int,
        token: str,
        settings: Path,
        whatsapp_secrets: Mapping[str, str],
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        super().__init__(process, base_url=f"http://127.0.0.1:{port}", health="/healthz", headers=headers)
        self._settings = settings
        self._whatsapp = WhatsappInbox(self.conversation, whatsapp_secrets, notes=settings.with_name("whatsapp-read"))
        self._in_force = ""  # the mark of the settings that openclaw last reported as applied
        # conversations whose last turn was aborted, and the time at which that turn is over
        self._ending: dict[str, float] = {}

    async def settle(self) -> None:
        """Wait until openclaw takes turns, which is long after it is first healthy."""
        self._health = "/startupz"
        await super().settle()
        self._health = "/healthz"
        await self.reloaded()

    def conversation(self, session: str) -> Turns:
        return _OpenclawConversation(self, session)

    async def channels(self) -> dict[str, str | None]:
        await self.reloaded()
        whatsapp = {"whatsapp": await self._whatsapp.state()}
        async with self._session.post("/api/v1/admin/rpc", json={"method": "channels.status"}) as answer:
            if answer.status != 200:
                return openclaw_channels.states({}) | whatsapp
            report: Json = await answer.json()
        return openclaw_channels.states(report.get("payload") or {}) | whatsapp

    async def take_message(self, channel: str, *, name: str, body: str) -> bool:
        if channel != "whatsapp":
            return await super().take_message(channel, name=name, body=body)
        try:
            can_take = self.usable() and await self._is_healthy()
        except aiohttp.ClientError as error:  # the end of the process is not known here yet
            raise EngineError(f"the engine does not answer ({type(error).__name__})") from error
        if not can_take:
            raise EngineError("the engine takes no messages now")
        return self._whatsapp.take(name, body)

    async def reloaded(self) -> None:
        """Wait until openclaw has applied the settings in the file. Raises EngineError."""
        mark = str(_settings_of(json.loads(self._settings.read_text(encoding="utf-8")))["mark"])
        try:
            async with asyncio.timeout(RELOAD_SECONDS):
                while self._in_force != mark:
                    self._in_force = await self._mark()
                    if self._in_force != mark:
                        await asyncio.sleep(POLL_SECONDS)
        except TimeoutError as error:
            raise EngineError("the engine did not take its new settings") from error

    async def _mark(self) -> str:
        """The mark of the settings that openclaw has applied; "" until our plugin inside openclaw has them too."""
        async with self._session.get(f"/{PLUGIN_ID}/mark") as answer:
            return (await answer.text()) if answer.status == 200 else ""

    async def wind_down(self) -> None:
        """openclaw does not end while a turn runs. The turns have failed and their connections are closed, so wait
        until openclaw has noticed this.
        """
        await self._until(max(self._ending.values(), default=0.0))

    async def ended(self, session: str) -> None:
        await self._until(self._ending.pop(session, 0.0))

    def aborted(self, session: str) -> None:
        self._ending[session] = asyncio.get_running_loop().time() + ABORT_SECONDS

    async def events(self, session: str, message: str) -> AsyncGenerator[Json, None]:
        body = {
            "model": "openclaw",
            "user": session,
            "stream": True,
            "messages": [{"role": "user", "content": message}],
        }
        async with self._session.post("/v1/chat/completions", json=body) as answer:
            if answer.status != 200:
                raise EngineError(await _refusal(answer))
            async for event in _events(answer.content):
                yield event

    async def while_alive(self, events: AsyncGenerator[Json, None]) -> AsyncGenerator[Json, None]:
        async with aclosing(self._while_alive(events)) as living:
            async for event in living:
                yield event

    async def _until(self, moment: float) -> None:
        await asyncio.sleep(max(moment - asyncio.get_running_loop().time(), 0.0))

    def _says_healthy(self, body: bytes) -> bool:
        try:
            said = json.loads(body)
        except ValueError:
            return False
        return isinstance(said, dict) and said.get("ok") is True


class _OpenclawConversation:
    def __init__(self, driver: OpenclawDriver, session: str) -> None:
        self._driver = driver
        self._session = session
        self._text = ""

    async def turn(self, message: str) -> AsyncGenerator[str, None]:
        await self._driver.ended(self._session)
        await self._driver.reloaded()
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
        finished = False
        async for event in events:
            if error := event.get("error"):
                raise ModelError(str(error.get("message") or "the model failed"))
            choice = (event.get("choices") or [{}])[0]
            piece = str((choice.get("delta") or {}).get("content") or "")
            if piece:
                self._text += piece
                yield piece
            finished = finished or bool(choice.get("finish_reason"))
        if not finished:
            raise EngineError("the engine broke off in the middle of the turn")
        if not self._text.strip():
            raise ModelError("the model ended the turn without a word")


async def _events(stream: aiohttp.StreamReader) -> AsyncIterator[Json]:
    """The JSON of server-sent events. Each is one line of data of any length; comments and event names are left out."""
    rest = b""
    async for chunk in stream.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            data = line.removeprefix(b"data:").strip()
            if line.startswith(b"data:") and data != _DONE:
                yield json.loads(data)


def _settings_of(rendered: Json) -> Json:
    """The settings of our plugin."""
    settings: Json = rendered["plugins"]["entries"][PLUGIN_ID]["config"]
    return settings


async def _refusal(answer: aiohttp.ClientResponse) -> str:
    try:
        return str((await answer.json(content_type=None))["error"]["message"])
    except (ValueError, LookupError, TypeError):
        return f"the engine answered {answer.status}"
