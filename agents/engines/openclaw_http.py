"""The driver for openclaw's server: chat completions as a stream, with one openclaw session for each conversation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import aiohttp

from agents.engines import openclaw_channels
from agents.engines.base import EngineError, ModelError
from agents.engines.http_turns import CallDriver, Json, refusal, server_sent_events
from agents.engines.whatsapp import WhatsappInbox

# openclaw applies changed settings about a second after they were written; this is the limit.
RELOAD_SECONDS = 20.0
POLL_SECONDS = 0.1
SETTINGS = "openclaw.json"
PLUGIN_ID = "agentpods"


class OpenclawDriver(CallDriver):
    # openclaw notices at once that a caller has disconnected, and ends the model call.
    abort_seconds = 1.0

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

    async def settle(self) -> None:
        """Wait until openclaw takes turns, which is long after it is first healthy."""
        self._health = "/startupz"
        await super().settle()
        self._health = "/healthz"
        await self.reloaded()

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

    async def prepare(self, session: str) -> None:
        await super().prepare(session)
        await self.reloaded()

    async def texts(self, session: str, message: str) -> AsyncGenerator[str, None]:
        body = {
            "model": "openclaw",
            "user": session,
            "stream": True,
            "messages": [{"role": "user", "content": message}],
        }
        has_text = finished = False
        async with self._session.post("/v1/chat/completions", json=body) as answer:
            if answer.status != 200:
                raise EngineError(await refusal(answer))
            async for event in server_sent_events(answer.content):
                if error := event.get("error"):
                    raise ModelError(str(error.get("message") or "the model failed"))
                choice = (event.get("choices") or [{}])[0]
                if piece := str((choice.get("delta") or {}).get("content") or ""):
                    has_text = has_text or bool(piece.strip())
                    yield piece
                finished = finished or bool(choice.get("finish_reason"))
        if not finished:
            raise EngineError("the engine broke off in the middle of the turn")
        if not has_text:
            raise ModelError("the model ended the turn without a word")

    def _says_healthy(self, body: bytes) -> bool:
        try:
            said = json.loads(body)
        except ValueError:
            return False
        return isinstance(said, dict) and said.get("ok") is True


def _settings_of(rendered: Json) -> Json:
    """The settings of our plugin."""
    settings: Json = rendered["plugins"]["entries"][PLUGIN_ID]["config"]
    return settings
