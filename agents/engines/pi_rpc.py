"""The driver for pi's RPC mode: one JSON object per line on stdin and stdout.
Seen in real runs: `prompt` answers success at once, and failures come as events, as a last message with `stopReason:
error`. `agent_settled` is the end of a turn. `abort` is answered when the run is over, but it does not stop a prompt
that pi has not read yet. So a prompt is only sent to a process that has just answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from agents.engines.base import EngineError, ModelError
from agents.engines.stdio import ANSWER_SECONDS, Events, Json, StdioDriver, next_event, overlook_failure

_BETWEEN_MESSAGES = "\n\n"


class PiDriver(StdioDriver):
    def __init__(self, process: asyncio.subprocess.Process, *, model: tuple[str, str] | None) -> None:
        super().__init__(process)
        self._model = model
        self._texts: list[str] = []

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
        if self._gone is None and self._aborting is None:
            self._aborting = asyncio.create_task(self._ask("abort"))
            self._aborting.add_done_callback(overlook_failure)

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

    async def _pieces(self, events: Events) -> AsyncIterator[str]:
        """Yield text as it arrives, and check the last assistant message at the end."""
        last: Json = {}
        streamed = False
        while (event := await next_event(events))["type"] != "agent_settled":
            if piece := _delta(event):
                yield _BETWEEN_MESSAGES + piece if self._texts and not streamed else piece
                streamed = True
            if ended := _assistant_message(event):
                last, streamed = ended, False
                self._texts += [text] if (text := _text_of(ended)) and ended.get("stopReason") != "error" else []
        _judge(last, self._texts)

    async def _ask(self, command: str, **fields: Any) -> Json:
        number = str(next(self._numbers))
        response = await self._answer_to(number, {"id": number, "type": command, **fields})
        if not response.get("success"):
            raise _RefusedError(str(response.get("error") or f"{command} was refused"))
        data = response.get("data")
        return data if isinstance(data, dict) else {}

    def _take(self, record: Json) -> None:
        if record.get("type") == "response":
            self._take_answer(record.get("id"), record)
        else:
            self._take_event(record)


class _RefusedError(EngineError):
    """pi answered a command with `success: false`."""


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
