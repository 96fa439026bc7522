"""Bodies that the API's parser refuses, and the cost of reading a hostile body."""

from __future__ import annotations

import io
import json
import tracemalloc

import pytest
from rest_framework.exceptions import ParseError

from config.parsing import MAX_BODY_BYTES, MAX_DEPTH, StrictJSONParser, strict_json


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("\0", "body"),
        ({"name": "\0"}, "name"),
        ({"tools": {"mcpServers": [{"env": {"A": "\ud800"}}]}}, "tools.mcpServers[0].env.A"),
        ({"tools": {"\0": 1}}, "tools"),
        ([["fine", "\0"]], "[0][1]"),
        ({"a": [1, {"b": ["\\\ud83d", "\ud83d\ude00\udc00"]}]}, "a[1].b[0]"),
        (["\ude00\ud83d"], "[0]"),
        ([{"\udfff": 1}], "[0]"),
    ],
)
def test_text_that_cannot_be_stored_is_named_by_its_place(body: object, place: str) -> None:
    with pytest.raises(ParseError) as refusal:
        StrictJSONParser().parse(io.BytesIO(json.dumps(body).encode()))
    assert str(refusal.value.detail) == f"{place}: text may not contain NUL or unpaired surrogates"


def test_a_deep_body_with_long_keys_takes_memory_in_proportion_to_its_size() -> None:
    depth = MAX_DEPTH
    key = "k" * (MAX_BODY_BYTES // depth - 10)
    body = (f'{{"{key}":' * depth + "1" + "}" * depth).encode()
    tracemalloc.start()
    try:
        StrictJSONParser().parse(io.BytesIO(body))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * len(body)


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "Infinity",
        "-Infinity",
        "1e400",
        "9" * 400,
        "01",
        "1.",
        "[1,]",
        "",
        "1 2",
        '"\x01"',
        '"\\x"',
        "\ufeff1",
        "'a'",
    ],
)
def test_what_is_no_json_is_refused_as_the_body(text: str) -> None:
    with pytest.raises(ParseError) as refusal:
        StrictJSONParser().parse(io.BytesIO(text.encode()))
    assert str(refusal.value.detail).startswith("body: not valid JSON (")


def test_what_is_not_utf_8_is_refused_with_its_place() -> None:
    with pytest.raises(ParseError) as refusal:
        StrictJSONParser().parse(io.BytesIO(b'{"a": "\xff"}'))
    assert "can't decode byte 0xff in position 7" in str(refusal.value.detail)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, "a": 2}', {"a": 2}),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
        ('"\\ud83d\\ude00 \\\\ud800 \\\\u0000"', "\U0001f600 \\ud800 \\u0000"),
        ('"\\uD83D\\uDE00"', "\U0001f600"),
        ("[1.0, 1e2, -0]", [1.0, 100.0, 0]),
    ],
)
def test_what_is_json_is_read_as_it_is(text: str, value: object) -> None:
    assert strict_json(text) == value


def test_a_number_that_no_column_can_hold_is_no_whole_number() -> None:
    assert isinstance(strict_json("18446744073709551616"), float)
