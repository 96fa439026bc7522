"""What is read of a vendor's answer while it passes, in each protocol and in pieces of any size."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.pod.gateway.spending.answer_reader import LINE_BYTES, AnswerReader
from agents.pod.gateway.spending.tokens import ModelProtocol, Tokens, protocol_of

CHAT = {
    "prompt_tokens": 120,
    "completion_tokens": 30,
    "total_tokens": 150,
    "prompt_tokens_details": {"cached_tokens": 100},
    "completion_tokens_details": {"reasoning_tokens": 20},
}
RESPONSES = {
    "input_tokens": 120,
    "output_tokens": 30,
    "input_tokens_details": {"cached_tokens": 100},
    "output_tokens_details": {"reasoning_tokens": 20},
}
GOOGLE = {
    "promptTokenCount": 120,
    "candidatesTokenCount": 10,
    "thoughtsTokenCount": 20,
    "cachedContentTokenCount": 100,
    "totalTokenCount": 150,
}
TOLD = Tokens(input=120, cached=100, output=30, reasoning=20)


def stream(*events: dict[str, Any]) -> bytes:
    return b"".join(b"event: x\r\ndata: " + json.dumps(event).encode() + b"\r\n\r\n" for event in events)


def read(protocol: ModelProtocol, answer: bytes, *, is_stream: bool, size: int) -> AnswerReader:
    reader = AnswerReader(protocol, is_stream=is_stream)
    for at in range(0, len(answer), size):
        reader.feed(answer[at : at + size])
    reader.finish()
    return reader


STREAMS = {
    ModelProtocol.CHAT: stream(
        {"choices": [{"delta": {"content": "Hello"}}], "usage": None},
        {"choices": [], "usage": CHAT},
    ),
    ModelProtocol.RESPONSES: stream(
        {"type": "response.created", "response": {"usage": None}},
        {"type": "response.output_text.delta", "delta": "Hello"},
        {"type": "response.completed", "response": {"output": [], "usage": RESPONSES}},
    ),
    ModelProtocol.GOOGLE: stream(
        {"candidates": [{"content": {"parts": [{"text": "Hel"}]}}], "usageMetadata": {"promptTokenCount": 120}},
        {"candidates": [{"content": {"parts": [{"text": "lo"}]}, "finishReason": "STOP"}], "usageMetadata": GOOGLE},
    ),
}
WHOLE = {
    ModelProtocol.CHAT: {"choices": [{"message": {"content": '"usage": {"prompt_tokens": 1}'}}], "usage": CHAT},
    ModelProtocol.RESPONSES: {"output": [{"usage": {"input_tokens": 1}}], "usage": RESPONSES},
    ModelProtocol.GOOGLE: {
        "candidates": [
            {"content": {"parts": [{"functionCall": {"args": {"usageMetadata": {"promptTokenCount": 1}}}}]}}
        ],
        "usageMetadata": GOOGLE,
    },
}


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("protocol", list(STREAMS))
def test_a_stream_is_read_in_pieces_of_any_size(protocol: ModelProtocol, size: int) -> None:
    reader = read(protocol, STREAMS[protocol], is_stream=True, size=size)
    assert (reader.found, reader.is_whole) == (TOLD, True)


@pytest.mark.parametrize("size", [1, 10_000])
@pytest.mark.parametrize("protocol", list(WHOLE))
def test_only_the_vendors_own_figures_count_and_not_what_the_model_writes(protocol: ModelProtocol, size: int) -> None:
    reader = read(protocol, json.dumps(WHOLE[protocol]).encode(), is_stream=False, size=size)
    assert (reader.found, reader.is_whole) == (TOLD, True)


def test_anthropic_counts_what_was_cached_apart_from_the_input() -> None:
    usage = {"input_tokens": 20, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 10, "output_tokens": 1}
    begins = stream({"type": "message_start", "message": {"usage": usage}})
    reader = read(ModelProtocol.MESSAGES, begins, is_stream=True, size=1000)
    assert (reader.found, reader.is_whole) == (Tokens(input=120, cached=90, written=10, output=1), False)
    ends = stream({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 30}})
    reader = read(ModelProtocol.MESSAGES, begins + ends, is_stream=True, size=1000)
    assert (reader.found, reader.is_whole) == (Tokens(input=120, cached=90, written=10, output=30), True)


def test_reasoning_that_is_only_in_the_sum_is_part_of_the_output() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 40}
    reader = read(ModelProtocol.CHAT, json.dumps({"usage": usage}).encode(), is_stream=False, size=1000)
    assert reader.found == Tokens(input=10, output=30)


def test_a_line_that_is_too_long_to_be_held_is_read_while_it_passes() -> None:
    body = {"type": "response.completed", "response": {"output": "x" * 4 * LINE_BYTES, "usage": RESPONSES, "id": "r"}}
    reader = AnswerReader(ModelProtocol.RESPONSES, is_stream=True)
    answer = stream(body, {"type": "other"})
    for at in range(0, len(answer), 4096):
        reader.feed(answer[at : at + 4096])
        assert len(reader._line) <= LINE_BYTES + 4096
    reader.finish()
    assert reader.found == TOLD


@pytest.mark.parametrize(
    "usage", [None, 7, [], {}, {"prompt_tokens": -1}, {"prompt_tokens": 10**12}, {"prompt_tokens": "9"}]
)
def test_what_is_no_number_of_tokens_is_not_believed(usage: object) -> None:
    reader = read(ModelProtocol.CHAT, json.dumps({"usage": usage}).encode(), is_stream=False, size=1000)
    assert reader.found is None


@pytest.mark.parametrize(
    "answer", [b"", b"data", b"data: {", b"data: [1]\n", b'data: {"usage": \n', b"\xff" * 200_000 + b"\n"]
)
def test_any_other_stream_is_passed_over(answer: bytes) -> None:
    reader = read(ModelProtocol.CHAT, answer + b"\n" + STREAMS[ModelProtocol.CHAT], is_stream=True, size=5000)
    assert reader.found == TOLD


@pytest.mark.parametrize("answer", [b"", b"[]", b"nothing", b'{"usage": ', b"[" * 100_000])
def test_any_other_answer_tells_nothing(answer: bytes) -> None:
    assert read(ModelProtocol.CHAT, answer, is_stream=False, size=5000).found is None


def test_the_text_of_a_stream_is_measured_for_an_estimate() -> None:
    events = [{"choices": [{"delta": {"content": "four"}}]}] * 10
    assert read(ModelProtocol.CHAT, stream(*events), is_stream=True, size=100).text_bytes == 40


@pytest.mark.parametrize(
    ("path", "protocol"),
    [
        ("/v1/chat/completions", ModelProtocol.CHAT),
        ("/v1/embeddings", ModelProtocol.CHAT),
        ("/v1/responses", ModelProtocol.RESPONSES),
        ("/v1/messages", ModelProtocol.MESSAGES),
        ("/v1/messages/count_tokens", None),
        ("/v1beta/models/g-3:streamGenerateContent", ModelProtocol.GOOGLE),
        ("/v1beta/models/g-3:countTokens", None),
    ],
)
def test_each_path_speaks_a_protocol_or_costs_nothing(path: str, protocol: ModelProtocol | None) -> None:
    assert protocol_of(path) == protocol
