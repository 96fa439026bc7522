"""The driver for claude-code's JSON stream: one object per line on stdin and stdout.
Seen in real runs: a user's message is one turn, which ends with one `result`. A failure is a `result` with `is_error`,
whose subtype may still be `success`. `interrupt` is answered at once, and the `result` of the turn follows later. A
message that has not started yet is not interrupted. A message that starts with a slash is read as a command (`/clear`
would forget the conversation), unless `text_not_typed` is set.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from agents.engines import stdio
from agents.engines.base import EngineError, ModelError

log = logging.getLogger(__name__)

Json = dict[str, Any]

ANSWER_SECONDS = 5.0
ABORT_SECONDS = 5.0
# A provider may ask for a pause before the next try. A longer pause than this is not waited for.
LONGEST_PAUSE_SECONDS = 15.0
_BETWEEN_MESSAGES = "\n\n"


class ClaudeCodeDriver:
    def __init__(self, process: asyncio.subprocess.Process, *, model: str | None) -> None:
        self._process = process
        self._model = model
        self._numbers = itertools.count(1)
        self._asked: dict[str, asyncio.Future[Json]] = {}
        self._events: asyncio.Queue[Json | EngineError] | None = None
        self._began: asyncio.Future[None] | None = None  # of the turn that has no result yet
        self._ended: asyncio.Future[None] | None = None
        self._gone: EngineError | None = None
        self._text = ""
        self._aborting: asyncio.Task[None] | None = None
        self._reader = asyncio.create_task(self._read())

    async def settle(self) -> None:
        """Wait for the first answer. It comes when all MCP servers have answered or were given up. Raises EngineError
        if the process uses another model.
        """
        applied = (await self._ask("get_settings")).get("applied") or {}
        if self._model is not None and applied.get("model") != self._model:
            raise EngineError(f"claude-code runs another model than {self._model}")

    async def probe(self) -> None:
        await self._ask("get_binary_version")

    def usable(self) -> bool:
        return self._gone is None

    def conversation(self, session: str) -> ClaudeCodeDriver:
        return self  # the process was started for this conversation

    async def channels(self) -> dict[str, str | None]:
        return {}

    async def take_message(self, channel: str, *, name: str, body: str) -> bool:
        raise EngineError(f"the engine takes no messages of {channel} from the platform")

    async def wind_down(self) -> None:
        self._abort()  # it reacts to SIGTERM at once, also in the middle of a turn

    async def turn(self, message: str) -> AsyncGenerator[str, None]:
        await self._answers_now()
        self._text = ""
        events = self._events = asyncio.Queue()
        loop = asyncio.get_running_loop()
        self._began, self._ended = loop.create_future(), loop.create_future()
        try:
            content = {"role": "user", "content": message}
            self._write({"type": "user", "message": content, "text_not_typed": True})
            async for piece in self._pieces(events):
                yield piece
        finally:
            self._events = None
            if not self._ended.done():
                self._abort()

    def reply(self) -> str:
        return self._text

    def fail(self, error: EngineError) -> None:
        if self._events is not None:
            self._events.put_nowait(error)

    async def _pieces(self, events: asyncio.Queue[Json | EngineError]) -> AsyncIterator[str]:
        """Yield text as it arrives, and check the result at the end."""
        is_new = False
        while (event := await _next(events))["type"] != "result":
            _refuse_long_pause(event)
            is_new = is_new or _begins(event)
            if piece := _delta(event):
                piece = _BETWEEN_MESSAGES + piece if is_new and self._text else piece
                is_new = False
                self._text += piece
                yield piece
        _judge(event)
        if said := event.get("result") if not self._text else None:
            self._text = str(said)
            yield self._text
        if not self._text:
            raise ModelError("the model ended the turn without a word")

    def _abort(self) -> None:
        """Interrupt the turn in the background. Only the next turn waits for the end: a stopped engine answers when it
        continues.
        """
        if self._gone is None and self._aborting is None and self._ended and not self._ended.done():
            self._aborting = asyncio.create_task(self._interrupt(self._began, self._ended))
            self._aborting.add_done_callback(_overlook_failure)

    async def _interrupt(self, began: asyncio.Future[None] | None, ended: asyncio.Future[None]) -> None:
        """Interrupt the turn, but wait until it has started, because only then it can be interrupted. Otherwise its
        result would be taken for the next turn's.
        """
        if began is not None:
            await asyncio.wait({began, ended}, return_when=asyncio.FIRST_COMPLETED)
        if not ended.done():
            await self._ask("interrupt")
            await asyncio.wait({ended})

    async def _answers_now(self) -> None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self.probe()
        except TimeoutError as error:
            raise EngineError("the engine does not answer") from error
        if self._aborting is None:
            return
        done, _ = await asyncio.wait({self._aborting}, timeout=ABORT_SECONDS)
        if not done:
            self._gone = EngineError("the engine did not end an aborted turn")
            raise self._gone
        self._aborting = None

    async def _ask(self, subtype: str) -> Json:
        if self._gone:
            raise self._gone
        number = str(next(self._numbers))
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        try:
            self._write({"type": "control_request", "request_id": number, "request": {"subtype": subtype}})
            response = await answer
        finally:
            self._asked.pop(number, None)
        if response.get("subtype") != "success":
            raise EngineError(str(response.get("error") or f"{subtype} was refused"))
        found = response.get("response")
        return found if isinstance(found, dict) else {}

    def _write(self, record: Json) -> None:
        """Write without waiting for the pipe: a stopped engine would block the caller."""
        stdin = self._process.stdin
        if stdin is None or stdin.is_closing():
            raise EngineError("the engine has ended")
        stdin.write(json.dumps(record).encode() + b"\n")

    async def _read(self) -> None:
        """Read records until stdout ends, then let all waiting calls fail."""
        try:
            async for line in stdio.lines(self._process.stdout):
                self._take(json.loads(line))
        except (OSError, ValueError) as error:
            log.warning("engine output: %s", error)
        self._gone = EngineError("the engine has ended")
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(self._gone)
        self.fail(self._gone)
        _resolve(self._ended)

    def _take(self, record: Json) -> None:
        match record.get("type"):
            case "control_response":
                response = record.get("response") or {}
                answer = self._asked.get(str(response.get("request_id")))
                if answer is not None and not answer.done():
                    answer.set_result(response)
                return
            case "control_request":
                self._refuse(record)
                return
            case "result":
                _resolve(self._ended)
            case "system" if record.get("subtype") != "init":
                pass  # these may come at any time, so they do not show that the turn has started
            case _:
                _resolve(self._began)
        if self._events is not None:
            self._events.put_nowait(record)

    def _refuse(self, record: Json) -> None:
        """Refuse a request of the engine: there is no person who could decide."""
        response = {"subtype": "error", "request_id": record.get("request_id"), "error": "nobody can be asked"}
        self._write({"type": "control_response", "response": response})


def _resolve(future: asyncio.Future[None] | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)


def _overlook_failure(task: asyncio.Task[None]) -> None:
    """If the engine ends instead of answering an interrupt, the turn has ended too."""
    if not task.cancelled() and (error := task.exception()):
        log.debug("interrupt: %s", error)


async def _next(events: asyncio.Queue[Json | EngineError]) -> Json:
    event = await events.get()
    if isinstance(event, EngineError):
        raise event
    return event


def _of_the_model(event: Json) -> Json:
    """The events that the model itself streams. Helper agents have their own streams, which are left out."""
    if event["type"] != "stream_event" or event.get("parent_tool_use_id"):
        return {}
    found = event.get("event")
    return found if isinstance(found, dict) else {}


def _begins(event: Json) -> bool:
    return _of_the_model(event).get("type") == "message_start"


def _delta(event: Json) -> str:
    delta = _of_the_model(event).get("delta") or {}
    return str(delta.get("text") or "") if delta.get("type") == "text_delta" else ""


def _refuse_long_pause(event: Json) -> None:
    if event.get("subtype") == "api_retry" and event.get("retry_delay_ms", 0) > LONGEST_PAUSE_SECONDS * 1000:
        status = event.get("error_status")
        raise ModelError(f"the model failed ({status}) and asks for a pause of {event['retry_delay_ms'] // 1000} s")


def _judge(result: Json) -> None:
    """Raises ModelError or EngineError if the turn has failed."""
    if result.get("is_error") and result.get("subtype") == "success":
        raise ModelError(str(result.get("result") or "the model failed"))
    if result.get("is_error") or result.get("subtype") != "success":
        said = "; ".join(map(str, result.get("errors") or ())) or str(result.get("subtype"))
        raise EngineError(f"the engine broke off the turn: {said[:300]}")
