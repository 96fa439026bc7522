"""The driver for pi's RPC mode: one JSON object per line on stdin and stdout.
Seen in real runs: `prompt` answers success at once, and failures come as events, as a last message with `stopReason:
error`. `agent_settled` is the end of a turn. `abort` is answered when the run is over, but it does not stop a prompt
that pi has not read yet. So a prompt is only sent to a process that has just answered.
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
_BETWEEN_MESSAGES = "\n\n"


class PiDriver:
    def __init__(self, process: asyncio.subprocess.Process, *, model: tuple[str, str] | None) -> None:
        self._process = process
        self._model = model
        self._numbers = itertools.count(1)
        self._asked: dict[str, asyncio.Future[Json]] = {}
        self._events: asyncio.Queue[Json | EngineError] | None = None
        self._gone: EngineError | None = None
        self._texts: list[str] = []
        self._aborting: asyncio.Task[Json] | None = None
        self._reader = asyncio.create_task(self._read())

    async def settle(self) -> None:
        """Set the model of the launch, because a conversation remembers its old model. Raises EngineError if pi uses
        another model then.
        """
        state = await self._ask("get_state")
        if self._model is None or _model_of(state) == self._model:
            return
        provider, model = self._model
        chosen = await self._ask("set_model", provider=provider, modelId=model)
        if (chosen.get("provider"), chosen.get("id")) != self._model:
            raise EngineError(f"pi runs another model than {provider}/{model}")

    async def probe(self) -> None:
        await self._ask("get_state")

    def usable(self) -> bool:
        return self._gone is None

    def conversation(self, session: str) -> PiDriver:
        return self  # the process was started for this conversation

    async def channels(self) -> dict[str, str | None]:
        return {}

    async def take_message(self, channel: str, *, name: str, body: str) -> bool:
        raise EngineError(f"the engine takes no messages of {channel} from the platform")

    async def wind_down(self) -> None:
        self._abort()  # pi reacts to SIGTERM at once, also in the middle of a turn

    async def turn(self, message: str) -> AsyncGenerator[str, None]:
        await self._answers_now()
        self._texts = []
        events = self._events = asyncio.Queue()
        settled = False
        try:
            await self._prompt(message)
            async for piece in self._pieces(events):
                yield piece
            settled = True
        except ModelError:
            settled = True
            raise
        finally:
            self._events = None
            if not settled:
                self._abort()

    def reply(self) -> str:
        return _BETWEEN_MESSAGES.join(self._texts)

    def _abort(self) -> None:
        """Abort the turn in the background. Only the next turn waits for the answer: a stopped engine answers when it
        continues.
        """
        if self._gone is None and self._aborting is None:
            self._aborting = asyncio.create_task(self._ask("abort"))
            self._aborting.add_done_callback(_overlook_failure)

    def fail(self, error: EngineError) -> None:
        if self._events is not None:
            self._events.put_nowait(error)

    async def _answers_now(self) -> None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self.probe()
        except TimeoutError as error:
            raise EngineError("the engine does not answer") from error
        await self._aborted()

    async def _aborted(self) -> None:
        """Wait until the turn before is over, because its late events would be taken for those of the next turn."""
        if self._aborting is None:
            return
        done, _ = await asyncio.wait({self._aborting}, timeout=ABORT_SECONDS)
        if not done:
            self._gone = EngineError("the engine did not end an aborted turn")
            raise self._gone
        self._aborting = None

    async def _prompt(self, message: str) -> None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._ask("prompt", message=message)
        except TimeoutError as error:
            # It may still read the prompt later, so this process must not be used again.
            self._gone = EngineError("the engine did not take the message")
            raise self._gone from error
        except _RefusedError as refusal:
            if "API key" in str(refusal) or "model" in str(refusal).lower():
                raise ModelError(str(refusal)) from refusal
            raise

    async def _pieces(self, events: asyncio.Queue[Json | EngineError]) -> AsyncIterator[str]:
        """Yield text as it arrives, and check the last assistant message at the end."""
        last: Json = {}
        streamed = False
        while (event := await _next(events))["type"] != "agent_settled":
            if piece := _delta(event):
                yield _BETWEEN_MESSAGES + piece if self._texts and not streamed else piece
                streamed = True
            if ended := _assistant_message(event):
                last, streamed = ended, False
                self._texts += [text] if (text := _text_of(ended)) and ended.get("stopReason") != "error" else []
        _judge(last, self._texts)

    async def _ask(self, command: str, **fields: Any) -> Json:
        if self._gone:
            raise self._gone
        number = str(next(self._numbers))
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        try:
            self._write({"id": number, "type": command, **fields})
            response = await answer
        finally:
            self._asked.pop(number, None)
        if not response.get("success"):
            raise _RefusedError(str(response.get("error") or f"{command} was refused"))
        data = response.get("data")
        return data if isinstance(data, dict) else {}

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
                self._take(line)
        except (OSError, ValueError) as error:
            log.warning("engine output: %s", error)
        self._gone = EngineError("the engine has ended")
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(self._gone)
        self.fail(self._gone)

    def _take(self, line: bytes) -> None:
        record = json.loads(line)
        if record.get("type") != "response":
            if self._events is not None:
                self._events.put_nowait(record)
            return
        answer = self._asked.get(str(record.get("id")))
        if answer is not None and not answer.done():
            answer.set_result(record)


class _RefusedError(EngineError):
    """pi answered a command with `success: false`."""


def _overlook_failure(task: asyncio.Task[Json]) -> None:
    """If the engine ends instead of answering an abort, the turn has ended too."""
    if not task.cancelled() and (error := task.exception()):
        log.debug("abort: %s", error)


async def _next(events: asyncio.Queue[Json | EngineError]) -> Json:
    event = await events.get()
    if isinstance(event, EngineError):
        raise event
    return event


def _model_of(state: Json) -> tuple[Any, Any]:
    model = state.get("model") or {}
    return model.get("provider"), model.get("id")


def _delta(event: Json) -> str:
    if event["type"] != "message_update":
        return ""
    update = event.get("assistantMessageEvent") or {}
    return str(update.get("delta") or "") if update.get("type") == "text_delta" else ""


def _assistant_message(event: Json) -> Json | None:
    message: Json = event.get("message") or {}
    return message if event["type"] == "message_end" and message.get("role") == "assistant" else None


def _text_of(message: Json) -> str:
    content = message.get("content") or []
    return "".join(str(part.get("text") or "") for part in content if part.get("type") == "text")


def _judge(last: Json, texts: list[str]) -> None:
    """Raises ModelError or EngineError if the turn has failed."""
    if last.get("stopReason") == "error":
        raise ModelError(str(last.get("errorMessage") or "the model failed"))
    if last.get("stopReason") == "aborted":
        raise EngineError("the turn was aborted")
    if not texts:
        raise ModelError("the model ended the turn without a word")
