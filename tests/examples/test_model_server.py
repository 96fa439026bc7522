from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from examples.model_server import SmallModelServer

HEADERS = {"Authorization": "Bearer sk-test"}
TALK = [{"role": "user", "content": "Please remember the word heron."}, {"role": "user", "content": "Which was it?"}]


@pytest.fixture
def server() -> Iterator[SmallModelServer]:
    server = SmallModelServer()
    yield server
    server.shutdown()
    server.server_close()


def ask(server: SmallModelServer, path: str, body: dict[str, Any]) -> requests.Response:
    return requests.post(server.base_url + path, json=body, headers=HEADERS, timeout=5)


def events(answer: requests.Response) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: {")]
    return [json.loads(line) for line in lines]


def test_it_remembers_by_what_the_caller_sends(server: SmallModelServer) -> None:
    whole = ask(server, "/chat/completions", {"messages": TALK}).json()
    assert whole["choices"][0]["message"]["content"] == "The word is heron."
    alone = ask(server, "/chat/completions", {"messages": TALK[1:]}).json()
    assert alone["choices"][0]["message"]["content"] == "You have not told me a word."


def test_it_streams_chat_completions(server: SmallModelServer) -> None:
    chunks = events(ask(server, "/chat/completions", {"messages": TALK, "stream": True}))
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == "The word is heron."
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"


def test_it_streams_responses(server: SmallModelServer) -> None:
    got = events(ask(server, "/responses", {"input": TALK, "stream": True}))
    assert [event["sequence_number"] for event in got] == list(range(len(got)))
    deltas = [event["delta"] for event in got if event["type"] == "response.output_text.delta"]
    assert "".join(deltas) == "The word is heron."
    assert got[-1]["response"]["output"][0]["content"][0]["text"] == "The word is heron."


def test_it_keeps_what_it_was_asked(server: SmallModelServer) -> None:
    requests.get(server.base_url + "/models", headers=HEADERS, timeout=5)
    ask(server, "/responses", {"input": TALK})
    assert [asked.path for asked in server.asked] == ["/v1/models", "/v1/responses"]
    assert [asked.authorization for asked in server.turns] == ["Bearer sk-test"]
