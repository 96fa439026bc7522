"""The question of a model call is the text of its last message, in all four protocols."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.pod.gateway.replay.questions import last_message


@pytest.mark.parametrize(
    "call",
    [
        {"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Which owls?"}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "Which owls?"}, {"type": "image"}]}]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": [{"text": "Which owls?"}]}]}]},
        {"input": "Which owls?"},
        {"input": [{"role": "user", "content": [{"type": "input_text", "text": "Which owls?"}]}]},
        {"input": [{"type": "function_call_output", "output": "Which owls?"}]},
        {"contents": [{"parts": [{"text": "Which owls?"}]}]},
        {"contents": [{"parts": [{"functionResponse": {"name": "search", "response": {"output": "Which owls?"}}}]}]},
    ],
)
def test_the_last_message_is_found(call: dict[str, Any]) -> None:
    assert last_message(json.dumps(call).encode()) == "Which owls?"


@pytest.mark.parametrize(
    "body",
    [
        None,
        b"",
        b"[]",
        b"7",
        b'{"messages": 7}',
        b'{"messages": []}',
        b'{"messages": [7]}',
        b'{"messages": [{"content": ' + b'{"content": ' * 6 + b'"deep"' + b"}" * 6 + b"}]}",
        b'{"messages": ' + b"[" * 100_000,
    ],
)
def test_a_body_without_a_question_has_none(body: bytes | None) -> None:
    assert last_message(body) == ""


def test_only_the_beginning_of_a_long_question_is_read() -> None:
    body = json.dumps({"messages": [{"content": [{"text": "word " * 100}] * 5_000}]}).encode()
    assert 1_000 < len(last_message(body)) < 2_000
