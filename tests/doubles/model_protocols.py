"""The four wire protocols of the model double: which path uses which, how to read requests, how to stream answers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import uuid4

Json = dict[str, Any]


class Protocol(StrEnum):
    CHAT = "chat"
    RESPONSES = "responses"
    MESSAGES = "messages"
    GOOGLE = "google"


@dataclass(frozen=True, slots=True)
class ToolCall:
    name: str
    arguments: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VendorUsage:
    """What a vendor counts for one answer, in tokens. `cached` is a part of `input`."""

    input: int = 10
    output: int = 5
    cached: int = 0

    @property
    def chat(self) -> Json:
        details = {"prompt_tokens_details": {"cached_tokens": self.cached}} if self.cached else {}
        total = self.input + self.output
        return {"prompt_tokens": self.input, "completion_tokens": self.output, "total_tokens": total, **details}

    @property
    def responses(self) -> Json:
        details = {
            "input_tokens_details": {"cached_tokens": self.cached},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        total = self.input + self.output
        return {"input_tokens": self.input, "output_tokens": self.output, "total_tokens": total, **details}

    @property
    def messages(self) -> Json:
        """This vendor does not count what was cached among `input_tokens`."""
        cached = {"cache_read_input_tokens": self.cached} if self.cached else {}
        return {"input_tokens": self.input - self.cached, "output_tokens": self.output, **cached}

    @property
    def google(self) -> Json:
        cached = {"cachedContentTokenCount": self.cached} if self.cached else {}
        total = self.input + self.output
        return {
            "promptTokenCount": self.input,
            "candidatesTokenCount": self.output,
            "totalTokenCount": total,
            **cached,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One request; its properties are the same for all protocols."""

    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: Json = field(repr=False)
    at: float
    usage: VendorUsage = VendorUsage()

    @property
    def protocol(self) -> Protocol | None:
        endings = {
            "/chat/completions": Protocol.CHAT,
            "/responses": Protocol.RESPONSES,
            "/messages": Protocol.MESSAGES,
            ":streamGenerateContent": Protocol.GOOGLE,
            ":generateContent": Protocol.GOOGLE,
        }
        return next((protocol for ending, protocol in endings.items() if self.path.endswith(ending)), None)

    @property
    def wants_stream(self) -> bool:
        if self.protocol is Protocol.GOOGLE:
            return self.path.endswith(":streamGenerateContent")
        return bool(self.body.get("stream"))

    @property
    def key(self) -> str | None:
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        in_headers = (bearer, self.headers.get("x-api-key"), self.headers.get("x-goog-api-key"))
        return next((key for key in (*in_headers, *self.query.get("key", [])) if key), None)

    @property
    def model(self) -> str:
        if self.protocol is Protocol.GOOGLE:
            return self.path.rsplit("/models/", 1)[1].rsplit(":", 1)[0]
        return str(self.body.get("model"))

    @property
    def tools(self) -> set[str]:
        """The names of the tools that the engine offers to the model."""
        names: set[str] = set()
        for tool in self.body.get("tools") or []:
            entries = (
                tool.get("functionDeclarations") or tool.get("function_declarations") or [tool.get("function", tool)]
            )
            names |= {entry["name"] for entry in entries if "name" in entry}
        return names

    @property
    def system(self) -> str:
        """The system prompt, wherever the protocol puts it."""
        outside = [self.body.get(name) for name in ("system", "systemInstruction", "instructions")]
        inside = [entry for entry in self._entries() if entry.get("role") in {"system", "developer"}]
        return _text([part for part in (*outside, *inside) if part])

    @property
    def said(self) -> list[tuple[str, str]]:
        """The conversation without system prompt and tools, as pairs of role (user, assistant) and text."""
        roles = {"user": "user", "assistant": "assistant", "model": "assistant"}
        spoken = [(roles[entry["role"]], _text(entry)) for entry in self._entries() if entry.get("role") in roles]
        return [(role, text) for role, text in spoken if text]

    def _entries(self) -> list[Json]:
        raw = self.body.get("messages") or self.body.get("input") or self.body.get("contents") or []
        if isinstance(raw, str):
            return [{"role": "user", "content": raw}]
        return [entry for entry in raw if isinstance(entry, dict)]


def _text(value: Any) -> str:
    """All text in a message, whatever its structure."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, (_text(part) for part in value)))
    if isinstance(value, dict):
        return _text(value.get("text") or value.get("content") or value.get("parts") or "")
    return ""


def error_body(status: int) -> Json:
    kinds = {401: "authentication_error", 429: "rate_limit_error"}
    messages = {401: "Incorrect API key provided", 429: "Rate limit reached"}
    message = messages.get(status, "The server had an error")
    return {"type": "error", "error": {"type": kinds.get(status, "server_error"), "message": message, "code": status}}


def answer(seen: Seen, *, words: list[str], call: ToolCall | None) -> list[str]:
    """The whole stream as server-sent events."""
    match seen.protocol:
        case Protocol.CHAT:
            return _chat(seen, words, call)
        case Protocol.RESPONSES:
            return _responses(seen, words, call)
        case Protocol.MESSAGES:
            return _messages(seen, words, call)
        case _:
            return _google(seen, words, call)


def whole(seen: Seen, text: str) -> Json:
    """The answer for a caller that does not stream."""
    match seen.protocol:
        case Protocol.CHAT:
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            return {
                "id": "c",
                "object": "chat.completion",
                "model": seen.model,
                "choices": [choice],
                "usage": seen.usage.chat,
            }
        case Protocol.RESPONSES:
            return _response(seen, [_output_text(text)], "completed")
        case Protocol.MESSAGES:
            return {**_message(seen), "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
        case _:
            return _candidate(seen, [{"text": text}], "STOP")


def _data(body: Json) -> str:
    return f"data: {json.dumps(body)}\n\n"


def _event(body: Json) -> str:
    return f"event: {body['type']}\n{_data(body)}"


def _chat(seen: Seen, words: list[str], call: ToolCall | None) -> list[str]:
    def chunk(delta: Json, finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        body: Json = {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": seen.model,
            "choices": [choice],
        }
        # In the last chunk that has a choice: some clients do not understand a chunk without choices.
        return _data({**body, "usage": seen.usage.chat} if finish else body)

    if call:
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        tool = {"index": 0, "id": "call_1", "type": "function", "function": function}
        return [chunk({"role": "assistant", "tool_calls": [tool]}), chunk({}, "tool_calls"), "data: [DONE]\n\n"]
    said = [chunk({"role": "assistant", "content": word}) for word in words]
    return [*said, chunk({}, "stop"), "data: [DONE]\n\n"]


def _output_text(text: str) -> Json:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


def _response(seen: Seen, output: list[Json], status: str) -> Json:
    body = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": seen.model,
        "status": status,
        "output": output,
    }
    return {**body, "usage": seen.usage.responses if status == "completed" else None}


def _responses(seen: Seen, words: list[str], call: ToolCall | None) -> list[str]:
    if call:
        item: Json = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": call.name, "arguments": ""}
        arguments = json.dumps(call.arguments)
        full = {**item, "arguments": arguments, "status": "completed"}
        pieces: list[Json] = [
            {
                "type": "response.function_call_arguments.delta",
                "item_id": "fc_1",
                "output_index": 0,
                "delta": arguments,
            },
            {
                "type": "response.function_call_arguments.done",
                "item_id": "fc_1",
                "output_index": 0,
                "arguments": arguments,
            },
        ]
    else:
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
        full = _output_text("".join(words))
        at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        part = {"type": "output_text", "text": "", "annotations": []}
        pieces = [
            {"type": "response.content_part.added", **at, "part": part},
            *({"type": "response.output_text.delta", **at, "delta": word} for word in words),
            {"type": "response.output_text.done", **at, "text": "".join(words)},
            {"type": "response.content_part.done", **at, "part": full["content"][0]},
        ]
    events: list[Json] = [
        {"type": "response.created", "response": _response(seen, [], "in_progress")},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *pieces,
        {"type": "response.output_item.done", "output_index": 0, "item": full},
        {"type": "response.completed", "response": _response(seen, [full], "completed")},
    ]
    return [_event({**event, "sequence_number": number}) for number, event in enumerate(events)]


def _message(seen: Seen) -> Json:
    """Each message has a new id, as a vendor's has: clients treat messages (and tool calls) with one id as the same."""
    head = {"id": f"msg_{uuid4().hex}", "type": "message", "role": "assistant", "model": seen.model}
    return {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": seen.usage.messages}


def _messages(seen: Seen, words: list[str], call: ToolCall | None) -> list[str]:
    if call:
        block: Json = {"type": "tool_use", "id": f"toolu_{uuid4().hex}", "name": call.name, "input": {}}
        deltas: list[Json] = [{"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}]
    else:
        block = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": word} for word in words]
    ending = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
    events: list[Json] = [
        {"type": "message_start", "message": _message(seen)},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ending, "usage": {"output_tokens": seen.usage.output}},
        {"type": "message_stop"},
    ]
    return [_event(event) for event in events]


def _candidate(seen: Seen, parts: list[Json], finish: str | None) -> Json:
    candidate: Json = {"index": 0, "content": {"role": "model", "parts": parts}}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "usageMetadata": seen.usage.google}


def _google(seen: Seen, words: list[str], call: ToolCall | None) -> list[str]:
    if call:
        return [_data(_candidate(seen, [{"functionCall": {"name": call.name, "args": call.arguments}}], "STOP"))]
    said = [_data(_candidate(seen, [{"text": word}], None)) for word in words[:-1]]
    return [*said, _data(_candidate(seen, [{"text": words[-1]}], "STOP"))]
