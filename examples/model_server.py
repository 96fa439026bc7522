"""A small OpenAI-compatible model server that needs only the standard library: models, chat completions, responses.

The model has one rule. When somebody asks for a word, it answers with the word that it was told to remember earlier in
the same conversation. So the answer proves that the engine sent the earlier messages too. When it reads "ask your peer
NAME: …" and the engine offers the tool for that (chat completions only), it calls the tool and answers with the peer's
reply. The server keeps every request, so that the caller can see what the engine sent.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REMEMBER = re.compile(r"remember the word (\w+)", re.IGNORECASE)
ASK_PEER = re.compile(r"ask your peer (\w+): (.+)", re.IGNORECASE)
PEER_TOOL = "a2a__send_message"
Event = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Asked:
    path: str
    authorization: str
    body: dict[str, Any] = field(repr=False)

    @property
    def text(self) -> str:
        """The whole request of the engine as one text."""
        return json.dumps(self.body, ensure_ascii=False)


class SmallModelServer(ThreadingHTTPServer):
    """A model server that listens as soon as it is created; `asked` has the requests, oldest first."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), ModelHandler)
        self.asked: list[Asked] = []
        self.base_url = f"http://127.0.0.1:{self.server_port}/v1"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def turns(self) -> list[Asked]:
        """The requests for an answer, without checks of keys and lists of models."""
        return [asked for asked in self.asked if asked.body]


class ModelHandler(BaseHTTPRequestHandler):
    server: SmallModelServer

    def do_GET(self) -> None:
        self._note({})
        listed = [{"id": "any", "object": "model", "created": 0, "owned_by": "demo"}]
        self._json({"object": "list", "data": listed})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        self._note(body)
        speak = responses if self.path.partition("?")[0].endswith("/responses") else chat_completions
        stream, whole = speak(body)
        if body.get("stream"):
            self._stream(stream)
        else:
            self._json(whole)

    def _note(self, body: dict[str, Any]) -> None:
        self.server.asked.append(Asked(self.path, self.headers.get("Authorization", ""), body))

    def _json(self, body: dict[str, Any]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _stream(self, events: Iterator[bytes]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in events:
            self.wfile.write(event)
            self.wfile.flush()

    def log_message(self, *args: object) -> None:
        """Log nothing: the demo prints its own steps."""


def answer_to(body: dict[str, Any]) -> str:
    """The model's answer: the reply of its peer, or else the last word that it was told to remember."""
    last = _last_message(body)
    if last.get("role") == "tool":
        return f"My peer says: {json.loads(_text_of(last)).get('reply')}"
    words = REMEMBER.findall(json.dumps(body.get("messages") or body.get("input") or []))
    return f"The word is {words[-1]}." if words else "You have not told me a word."


def tool_calls(body: dict[str, Any]) -> list[dict[str, Any]]:
    """A call of the tool that asks a peer, if the last message wants one and the engine offers the tool."""
    last = _last_message(body)
    found = ASK_PEER.search(_text_of(last)) if last.get("role") == "user" else None
    offered = {tool.get("function", {}).get("name") for tool in body.get("tools") or []}
    if not found or PEER_TOOL not in offered:
        return []
    arguments = json.dumps({"peer": found[1], "message": found[2]})
    return [
        {"index": 0, "id": "call_demo", "type": "function", "function": {"name": PEER_TOOL, "arguments": arguments}}
    ]


def _last_message(body: dict[str, Any]) -> dict[str, Any]:
    messages: list[dict[str, Any]] = body.get("messages") or [{}]
    return messages[-1]


def _text_of(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def chat_completions(body: dict[str, Any]) -> tuple[Iterator[bytes], dict[str, Any]]:
    """The answer as a stream of chunks and as one object."""
    text, usage = answer_to(body), {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    base = {"id": "chatcmpl-demo", "created": int(time.time()), "model": body.get("model", "any")}
    calls = tool_calls(body)
    reason = "tool_calls" if calls else "stop"
    message: dict[str, Any] = {"role": "assistant", "content": text}
    said = [{"role": "assistant", "content": part} for part in _parts(text)]
    if calls:
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        said = [message]
    whole = {**base, "object": "chat.completion", "usage": usage}
    whole["choices"] = [{"index": 0, "message": message, "finish_reason": reason}]

    def stream() -> Iterator[bytes]:
        for delta, end in (*((one, None) for one in said), ({}, reason)):
            choice = {"index": 0, "delta": delta, "finish_reason": end}
            chunk = {**base, "object": "chat.completion.chunk", "choices": [choice]}
            yield _sse({**chunk, "usage": usage} if end else chunk)
        yield b"data: [DONE]\n\n"

    return stream(), whole


def responses(body: dict[str, Any]) -> tuple[Iterator[bytes], dict[str, Any]]:
    """The same for the responses API."""
    text, item_id = answer_to(body), "msg_demo"
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"id": item_id, "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    base = {"id": "resp_demo", "object": "response", "created_at": int(time.time()), "model": body.get("model", "any")}
    tokens: dict[str, Any] = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    tokens |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole = {**base, "status": "completed", "output": [item], "usage": tokens, "error": None}
    return _numbered(_response_events(base, whole, item, text)), whole


def _response_events(base: dict[str, Any], whole: dict[str, Any], item: dict[str, Any], text: str) -> Iterator[Event]:
    at = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    part = item["content"][0]
    yield "response.created", {"response": {**base, "status": "in_progress", "output": []}}
    yield (
        "response.output_item.added",
        {"output_index": 0, "item": {**item, "status": "in_progress", "content": []}},
    )
    yield "response.content_part.added", {**at, "part": {**part, "text": ""}}
    for piece in _parts(text):
        yield "response.output_text.delta", {**at, "delta": piece}
    yield "response.output_text.done", {**at, "text": text}
    yield "response.content_part.done", {**at, "part": part}
    yield "response.output_item.done", {"output_index": 0, "item": item}
    yield "response.completed", {"response": whole}


def _numbered(events: Iterator[Event]) -> Iterator[bytes]:
    for number, (name, event) in enumerate(events):
        yield f"event: {name}\n".encode() + _sse({"type": name, "sequence_number": number, **event})


def _sse(event: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def _parts(text: str) -> list[str]:
    """Pieces of a few words, as models send them."""
    return re.findall(r"\S+\s*", text)
