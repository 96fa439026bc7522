"""The driver for opencode's server: a turn is one prompt, followed by the events of the event stream until the session
is idle again.
Seen in real runs: a session can be created with an id of our choice, and creating it twice does no harm, so no mapping
of conversations to sessions is needed. `prompt_async` answers before the turn starts; failures come as events. opencode
repeats a provider's 429 and 5xx without limit, and only an abort ends that.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import aiohttp

from agents.engines.base import EngineError, ModelError
from agents.engines.http import HttpDriver
from agents.engines.lines import lines

log = logging.getLogger(__name__)

Json = dict[str, Any]

AGENT = "chat"
POLL_SECONDS = 0.1
# A prompt is accepted at once. But on a machine that is short of CPU, the first prompt takes seconds to load.
ANSWER_SECONDS = 15.0
# The time limit for the end of an aborted turn.
ABORT_SECONDS = 5.0
# After this many failures in a row, the turn fails. They come after 0, 2 and 6 seconds.
MOST_FAILURES = 3
# If a provider asks for a longer pause than this, the turn fails too.
LONGEST_PAUSE_SECONDS = 15.0
_BETWEEN_TEXTS = "\n\n"
_UNTITLED = "New session"


class OpencodeDriver(HttpDriver):
    def __init__(
        self, process: asyncio.subprocess.Process, *, base_url: str, password: str, model: tuple[str, str] | None
    ) -> None:
        login = aiohttp.encode_basic_auth("opencode", password)
        super().__init__(process, base_url=base_url, health="/global/health", headers={"Authorization": login})
        self._model = model
        self._busy: set[str] = set()
        self._aborts: dict[str, asyncio.Task[None]] = {}

    async def settle(self) -> None:
        """Wait until opencode is healthy, and check that it knows the model. opencode also starts with an unknown
        model, but then the first turn would fail.
        """
        await super().settle()
        if self._model is None:
            return
        provider, model = self._model
        known = await self._ask("GET", "/config/providers", seconds=None)  # the very first request takes long
        models = [one["models"] for one in known["providers"] if one["id"] == provider]
        if not models or model not in models[0]:
            raise EngineError(f"opencode does not know the model {provider}/{model}")

    def conversation(self, session: str) -> _OpencodeConversation:
        return _OpencodeConversation(self, session)

    async def wind_down(self) -> None:
        for session in list(self._busy):
            self._abort(session)
        await asyncio.gather(*self._aborts.values(), return_exceptions=True)

    def take(self, conversation: str, turn: _Turn) -> AsyncGenerator[str, None]:
        return self._while_alive(self._pieces(f"ses_{conversation}", conversation, turn))

    def _says_healthy(self, body: bytes) -> bool:
        try:
            said = json.loads(body)
        except ValueError:
            return False
        return isinstance(said, dict) and said.get("healthy") is True

    async def _pieces(self, session: str, title: str, turn: _Turn) -> AsyncGenerator[str, None]:
        await self._rest(session)
        await self._open(session, title)
        async with self._session.get("/event") as stream, aclosing(_events(stream)) as events:
            await anext(events)  # from now on no event is missed
            self._busy.add(session)
            try:
                await self._ask("POST", f"/session/{session}/prompt_async", turn.prompt(self._model))
                async for event in events:
                    if piece := turn.take(event, session):
                        yield piece
                    if turn.over:
                        break
                turn.judge()
            finally:
                self._busy.discard(session)
                if not turn.over:
                    self._abort(session)

    async def _rest(self, session: str) -> None:
        """Wait until nothing runs in the session, because late events would be taken for those of this turn. The owner
        may also be using the engine's own page; that is waited for too.
        """
        if aborting := self._aborts.pop(session, None):
            await asyncio.wait({aborting})
            try:
                async with asyncio.timeout(ABORT_SECONDS):
                    await self._until_idle(session)
            except TimeoutError as error:
                self._abort(session)  # the first abort may have come before the turn had started
                raise EngineError("the engine did not end an aborted turn") from error
        await self._until_idle(session)

    async def _until_idle(self, session: str) -> None:
        while session in await self._ask("GET", "/session/status"):  # noqa: ASYNC110 - only another process knows when
            await asyncio.sleep(POLL_SECONDS)

    async def _open(self, session: str, title: str) -> None:
        """Create the session unless it exists. A session without a title would cost a model call for a title, so it
        gets one.
        """
        made = await self._ask("POST", "/api/session", {"id": session})
        if str(made["data"].get("title") or _UNTITLED).startswith(_UNTITLED):
            await self._ask("PATCH", f"/session/{session}", {"title": title})

    def _abort(self, session: str) -> None:
        """Abort the turn in the background. Only the next turn waits for the end."""
        if self.usable():
            self._aborts[session] = asyncio.create_task(self._abort_now(session))

    async def _abort_now(self, session: str) -> None:
        try:
            await self._ask("POST", f"/session/{session}/abort")
        except (EngineError, aiohttp.ClientError) as error:
            log.info("a turn was not aborted: %s", error)

    async def _ask(
        self, method: str, path: str, body: Json | None = None, *, seconds: float | None = ANSWER_SECONDS
    ) -> Any:
        try:
            async with asyncio.timeout(seconds), self._session.request(method, path, json=body) as answer:
                said = await answer.read()
        except TimeoutError as error:
            raise EngineError("the engine does not answer") from error
        if answer.status >= 300:
            raise EngineError(f"the engine refused ({answer.status}): {_refusal(said)}")
        return json.loads(said) if said else None


class _OpencodeConversation:
    def __init__(self, driver: OpencodeDriver, session: str) -> None:
        self._driver = driver
        self._session = session
        self._turn: _Turn | None = None

    async def turn(self, message: str) -> AsyncGenerator[str, None]:
        self._turn = _Turn(message)
        async with aclosing(self._driver.take(self._session, self._turn)) as pieces:
            async for piece in pieces:
                yield piece

    def reply(self) -> str:
        return self._turn.text if self._turn else ""


class _Turn:
    """Collects the events of one turn."""

    def __init__(self, message: str) -> None:
        self._message = message
        self._asked: str | None = None  # the id of our message; ids rise with time
        self._answers: set[str] = set()
        self._texts: dict[str, str] = {}
        self._error: Json | None = None
        self.over = False

    @property
    def text(self) -> str:
        return _BETWEEN_TEXTS.join(text for text in self._texts.values() if text)

    def prompt(self, model: tuple[str, str] | None) -> Json:
        """The body of the prompt. It names model and agent, because otherwise a session uses those of
        its last prompt.
        """
        chosen = {"model": {"providerID": model[0], "modelID": model[1]}} if model else {}
        return {"agent": AGENT, "parts": [{"type": "text", "text": self._message}], **chosen}

    def take(self, event: Json, session: str) -> str:
        """The next piece of the reply, or "". Raises ModelError if the provider fails again and again."""
        about = event.get("properties") or {}
        if about.get("sessionID") != session:
            return ""
        match event.get("type"):
            case "message.updated":
                self._note_message(about["info"])
            case "message.part.updated":
                return self._note_part(about["part"])
            case "message.part.delta" if about.get("field") == "text":
                known = self._texts.get(about["partID"])
                return "" if known is None else self._grow(about["partID"], known + about["delta"])
            case "session.error":
                self._error = about.get("error") or {"name": "UnknownError"}
                self.over = self._asked is None  # the turn never started
            case "session.status":
                self._note_status(about["status"])
        return ""

    def judge(self) -> None:
        """Raises ModelError or EngineError if the turn has failed."""
        if not self.over:
            raise EngineError("the engine broke off the turn")
        if self._error and self._error.get("name") == "MessageAbortedError":
            raise EngineError("the turn was aborted")
        if self._error:
            raise ModelError(_message_of(self._error))
        if not self.text:
            raise ModelError("the model ended the turn without a word")

    def _note_message(self, info: Json) -> None:
        if info["role"] == "user":
            self._asked = self._asked or info["id"]
        elif self._asked and info["id"] > self._asked and not info.get("summary"):
            self._answers.add(info["id"])
            self._error = info.get("error") or self._error

    def _note_part(self, part: Json) -> str:
        if part["type"] != "text" or part["messageID"] not in self._answers or part.get("synthetic"):
            return ""
        return self._grow(part["id"], part["text"])

    def _grow(self, part: str, text: str) -> str:
        """Set the part's new text and return the added piece."""
        known = self._texts.get(part, "")
        first = not known and any(self._texts.values())
        self._texts[part] = text
        if not text.startswith(known) or text == known:
            return ""
        return _BETWEEN_TEXTS + text if first else text[len(known) :]

    def _note_status(self, status: Json) -> None:
        self.over = status["type"] == "idle" and self._asked is not None
        if status["type"] != "retry":
            return
        pause = status.get("next", 0) / 1000 - time.time()
        if status["attempt"] >= MOST_FAILURES or pause > LONGEST_PAUSE_SECONDS:
            raise ModelError(str(status.get("message") or "the model failed"))


async def _events(stream: aiohttp.ClientResponse) -> AsyncGenerator[Json, None]:
    """The JSON of the events. Raises EngineError for an event without an end."""
    async for line in lines(stream.content.iter_any()):
        if line.startswith(b"data:"):
            yield json.loads(line[5:])


def _message_of(error: Json) -> str:
    data = error.get("data") or {}
    said = str(data.get("message") or error.get("name") or "the model failed")
    return f"{said} ({data['statusCode']})" if data.get("statusCode") else said


def _refusal(said: bytes) -> str:
    try:
        return _message_of(json.loads(said))[:300]
    except (ValueError, AttributeError):
        return said[:300].decode("utf-8", "replace")
