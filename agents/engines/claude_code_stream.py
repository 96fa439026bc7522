"""The driver for claude-code's JSON stream: one object per line on stdin and stdout.
Seen in real runs: a user's message is one turn, which ends with one `result`. A failure is a `result` with `is_error`,
whose subtype may still be `success`. `interrupt` is answered at once, and the `result` of the turn follows later. A
message that has not started yet is not interrupted. A message that starts with a slash is read as a command (`/clear`
would forget the conversation), unless `text_not_typed` is set.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

from agents.engines.base import EngineError, ModelError
from agents.engines.stdio import Events, Json, StdioDriver, next_event, overlook_failure

# A provider may ask for a pause before the next try. A longer pause than this is not waited for.
LONGEST_PAUSE_SECONDS = 15.0
_BETWEEN_MESSAGES = "\n\n"


class ClaudeCodeDriver(StdioDriver):
    def __init__(self, process: asyncio.subprocess.Process, *, model: str | None) -> None:
        super().__init__(process)
        self._model = model
        self._began: asyncio.Future[None] | None = None  # of the turn that has no result yet
        self._ended: asyncio.Future[None] | None = None
        self._text = ""

    async def settle(self) -> None:
        """Wait for the first answer. It comes when all MCP servers have answered or were given up. Raises EngineError
        if the process uses another model.
        """
        applied = (await self._ask("get_settings")).get("applied") or {}
        if self._model is not None and applied.get("model") != self._model:
            raise EngineError(f"claude-code runs another model than {self._model}")

    async def probe(self) -> None:
        await self._ask("get_binary_version")

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

    async def _pieces(self, events: Events) -> AsyncIterator[str]:
        """Yield text as it arrives, and check the result at the end."""
        is_new = False
        while (event := await next_event(events))["type"] != "result":
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
        if self._gone is None and self._aborting is None and self._ended and not self._ended.done():
            self._aborting = asyncio.create_task(self._interrupt(self._began, self._ended))
            self._aborting.add_done_callback(overlook_failure)

    async def _interrupt(self, began: asyncio.Future[None] | None, ended: asyncio.Future[None]) -> None:
        """Interrupt the turn, but wait until it has started, because only then it can be interrupted. Otherwise its
        result would be taken for the next turn's.
        """
        if began is not None:
            await asyncio.wait({began, ended}, return_when=asyncio.FIRST_COMPLETED)
        if not ended.done():
            await self._ask("interrupt")
            await asyncio.wait({ended})

    async def _ask(self, subtype: str) -> Json:
        number = str(next(self._numbers))
        record = {"type": "control_request", "request_id": number, "request": {"subtype": subtype}}
        response = await self._answer_to(number, record)
        if response.get("subtype") != "success":
            raise EngineError(str(response.get("error") or f"{subtype} was refused"))
        found = response.get("response")
        return found if isinstance(found, dict) else {}

    async def _read(self) -> None:
        await super()._read()
        _resolve(self._ended)

    def _take(self, record: Json) -> None:
        match record.get("type"):
            case "control_response":
                response = record.get("response") or {}
                self._take_answer(response.get("request_id"), response)
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
        self._take_event(record)

    def _refuse(self, record: Json) -> None:
        """Refuse a request of the engine: there is no person who could decide."""
        response = {"subtype": "error", "request_id": record.get("request_id"), "error": "nobody can be asked"}
        self._write({"type": "control_response", "response": response})


def _resolve(future: asyncio.Future[None] | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)


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
