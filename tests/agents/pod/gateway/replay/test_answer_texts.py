"""Texts and tools are read from the answers of all four protocols, whatever an answer looks like."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.pod.gateway.replay.answer_texts import LINE_BYTES, MOST_TOOLS, WHOLE_BYTES, AnswerTexts
from agents.pod.gateway.spending.tokens import ModelProtocol

Json = dict[str, Any]


def stream(*events: Json) -> bytes:
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)


def chat(**delta: Any) -> Json:
    return {"choices": [{"index": 0, "delta": delta}]}


STREAMS = {
    ModelProtocol.CHAT: stream(
        chat(content="Let me "),
        chat(content="look."),
        chat(tool_calls=[{"index": 0, "id": "a", "function": {"name": "search", "arguments": '{"q":'}}]),
        chat(tool_calls=[{"index": 0, "function": {"arguments": ' "owls"}'}}]),
    ),
    ModelProtocol.RESPONSES: stream(
        {"type": "response.output_text.delta", "output_index": 0, "delta": "Let me "},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "look."},
        {"type": "response.output_item.added", "output_index": 1, "item": {"type": "function_call", "name": "search"}},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '{"q": "owls"}'},
        {
            "type": "response.output_item.done",
            "output_index": 1,
            "item": {"type": "function_call", "name": "search", "arguments": '{"q": "owls"}'},
        },
        {"type": "response.completed", "response": {"output": [{"type": "message", "content": [{"text": "no"}]}]}},
    ),
    ModelProtocol.MESSAGES: stream(
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Let me look."}},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "t", "name": "search", "input": {}},
        },
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"q": '}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '"owls"}'}},
    ),
    ModelProtocol.GOOGLE: stream(
        {"candidates": [{"content": {"parts": [{"text": "hm", "thought": True}, {"text": "Let me look."}]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {"name": "search", "args": {"q": "owls"}}}]}}]},
    ),
}
WHOLE: dict[ModelProtocol, Any] = {
    ModelProtocol.CHAT: {
        "choices": [
            {
                "message": {
                    "content": "Let me look.",
                    "tool_calls": [{"id": "a", "function": {"name": "search", "arguments": '{"q": "owls"}'}}],
                }
            }
        ]
    },
    ModelProtocol.RESPONSES: {
        "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "Let me look."}]},
            {"type": "function_call", "name": "search", "arguments": '{"q": "owls"}'},
        ]
    },
    ModelProtocol.MESSAGES: {
        "content": [
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "name": "search", "input": {"q": "owls"}},
        ]
    },
    ModelProtocol.GOOGLE: [
        {"candidates": [{"content": {"parts": [{"text": "Let me look."}]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {"name": "search", "args": {"q": "owls"}}}]}}]},
    ],
}


def read(protocol: ModelProtocol, raw: bytes, *, is_stream: bool, size: int = 5_000) -> AnswerTexts:
    found = AnswerTexts(protocol, is_stream=is_stream)
    for at in range(0, len(raw), size):
        found.feed(raw[at : at + size])
    found.finish()
    return found


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("protocol", list(ModelProtocol))
def test_a_stream_is_read_in_pieces_of_any_size(protocol: ModelProtocol, size: int) -> None:
    found = read(protocol, STREAMS[protocol], is_stream=True, size=size)
    assert found.text == "Let me look."
    assert [(tool.name, json.loads(tool.arguments)) for tool in found.tools] == [("search", {"q": "owls"})]


@pytest.mark.parametrize("protocol", list(ModelProtocol))
def test_an_answer_in_one_piece_is_read_too(protocol: ModelProtocol) -> None:
    found = read(protocol, json.dumps(WHOLE[protocol]).encode(), is_stream=False)
    assert found.text == "Let me look."
    assert [(tool.name, json.loads(tool.arguments)) for tool in found.tools] == [("search", {"q": "owls"})]


def test_tools_that_a_vendor_numbers_alike_are_told_apart_by_their_ids() -> None:
    calls = [
        {"index": 0, "id": str(number), "function": {"name": f"t{number}", "arguments": "{}"}} for number in (1, 2)
    ]
    found = read(ModelProtocol.CHAT, stream(*(chat(tool_calls=[one]) for one in calls)), is_stream=True)
    assert [tool.name for tool in found.tools] == ["t1", "t2"]


def test_a_tool_of_the_vendor_is_told_by_its_type() -> None:
    item = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "web_search_call"}}
    found = read(ModelProtocol.RESPONSES, stream(item), is_stream=True)
    assert [tool.name for tool in found.tools] == ["web_search_call"]


def test_a_hundred_tools_are_twenty_and_a_count() -> None:
    calls = [{"index": number, "function": {"name": "t", "arguments": "x" * 400}} for number in range(100)]
    found = read(ModelProtocol.CHAT, stream(*(chat(tool_calls=[one]) for one in calls)), is_stream=True)
    assert (len(found.tools), found.more_tools) == (MOST_TOOLS, 100 - MOST_TOOLS)


ODD = [
    b"",
    b"data",
    b"data: {",
    b"data: [1, null]\n",
    b"data: 7\n",
    b"data: " + b"[" * (LINE_BYTES - 10) + b"\n",
    b"data: " + b"x" * (3 * LINE_BYTES) + b"\n",
    b"\xff" * 200_000,
    stream(
        {"choices": {}}, {"choices": [7]}, {"choices": [{"delta": []}]}, {"choices": [{"delta": {"tool_calls": 7}}]}
    ),
    stream(chat(tool_calls=[{"index": {}, "id": [], "function": {"name": {}, "arguments": []}}])),
    stream({"type": ["response.output_item.added"], "item": 7, "output": 7}, {"content_block": 7, "delta": 7}),
    stream({"candidates": [{"content": {"parts": [{"functionCall": {"name": 7, "args": 7}}]}}]}),
]


@pytest.mark.parametrize("protocol", list(ModelProtocol))
@pytest.mark.parametrize("raw", ODD)
def test_what_is_no_event_is_passed_over(protocol: ModelProtocol, raw: bytes) -> None:
    found = read(protocol, raw + b"\n" + STREAMS[protocol], is_stream=True)
    assert found.text == "Let me look."
    assert [tool.name for tool in found.tools] == ["search"]


@pytest.mark.parametrize("raw", [b"{", b"[" * 100_000, b'"text"', b"x" * (WHOLE_BYTES + 1)])
def test_any_other_answer_tells_nothing(raw: bytes) -> None:
    found = read(ModelProtocol.CHAT, raw, is_stream=False)
    assert (found.text, found.tools) == ("", [])
