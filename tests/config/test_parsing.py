"""What the API's parser refuses, and what reading a hostile body costs."""

from __future__ import annotations

import io
import json
import tracemalloc

import pytest
from rest_framework.exceptions import ParseError

from config.parsing import MAX_BODY_BYTES, StrictJSONParser


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("\0", "body"),
        ({"name": "\0"}, "name"),
        ({"tools": {"mcpServers": [{"env": {"A": "\ud800"}}]}}, "tools.mcpServers[0].env.A"),
        ({"tools": {"\0": 1}}, "tools"),
        ([["fine", "\0"]], "[0][1]"),
    ],
)
def test_text_that_cannot_be_stored_is_named_by_its_place(body: object, place: str) -> None:
    with pytest.raises(ParseError) as refusal:
        StrictJSONParser().parse(io.BytesIO(json.dumps(body).encode()))
    assert str(refusal.value.detail) == f"{place}: text may not contain NUL or unpaired surrogates"


def test_a_deep_body_with_long_keys_takes_memory_in_proportion_to_its_size() -> None:
    depth = 400
    key = "k" * (MAX_BODY_BYTES // depth - 10)
    body = (f'{{"{key}":' * depth + "1" + "}" * depth).encode()
    tracemalloc.start()
    try:
        StrictJSONParser().parse(io.BytesIO(body))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * len(body)
