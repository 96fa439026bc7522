"""The driver for hermes' API server: chat completions as a stream, with one hermes session for each conversation."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import AsyncGenerator
from pathlib import Path

import aiohttp

from agents.engines import hermes_channels
from agents.engines.base import EngineError, ModelError, Turns
from agents.engines.http_turns import CallDriver, Json, refusal, server_sent_events


class HermesDriver(CallDriver):
    # hermes sees within a second that a caller has disconnected (hermes_start.py). Then it ends the model call and
    # keeps the text so far.
    abort_seconds = 2.0

    def __init__(
        self, process: asyncio.subprocess.Process, *, port: int, key: str, home: Path, app_secret: str
    ) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        super().__init__(process, base_url=f"http://127.0.0.1:{port}", health="/health", headers=headers)
        self._home = home
        self._app_secret = app_secret

    def conversation(self, session: str) -> Turns:
        return super().conversation(f"web-{session}")

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

    async def texts(self, session: str, message: str) -> AsyncGenerator[str, None]:
        """hermes adds an empty line after the use of a tool, even at the beginning; there it is removed."""
        body = {"model": "agent", "stream": True, "messages": [{"role": "user", "content": message}]}
        headers = {"X-Hermes-Session-Id": session}
        text, verdict = "", None
        async with self._session.post("/v1/chat/completions", json=body, headers=headers) as answer:
            if answer.status != 200:
                raise await _refusal(answer)
            async for event in server_sent_events(answer.content):
                piece = _delta(event) if text else _delta(event).lstrip("\n")
                if piece:
                    text += piece
                    yield piece
                verdict = _finish(event) or verdict
        _judge(verdict, text)

    def _says_healthy(self, body: bytes) -> bool:
        return b"hermes-agent" in body


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
    said = await refusal(answer)
    # There is no model, or hermes could not be set up with it.
    return ModelError(said) if answer.status == 500 else EngineError(said)
