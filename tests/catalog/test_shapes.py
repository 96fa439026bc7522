"""The allowed content of a persona's JSON columns."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from catalog import shapes


@pytest.mark.parametrize("examples", [[], "text", {"a": 1}, {"a": " "}, {}, {"a": "?", "b": "?"}, {"b": "?"}])
def test_examples_are_one_question_for_each_label(examples: Any) -> None:
    with pytest.raises(ValidationError, match="does_examples"):
        shapes.check_does_examples(examples, ["a"])


def test_a_persona_may_have_no_examples_and_no_demo() -> None:
    shapes.check_does_examples(None, ["a"])
    shapes.check_demo(None)


@pytest.mark.parametrize(
    "demo",
    [
        [],
        {},
        "text",
        ["text"],
        [{"role": "user"}],
        [{"role": "boss", "text": "Hi"}],
        [{"role": "user", "text": ""}],
        [{"role": "user", "text": 5}],
        [{"role": "user", "text": "Hi", "mood": "good"}],
    ],
)
def test_a_demo_is_lines_of_a_speaker_and_a_text(demo: Any) -> None:
    with pytest.raises(ValidationError, match="demo"):
        shapes.check_demo(demo)


def test_a_demo_of_both_speakers_is_taken() -> None:
    shapes.check_demo([{"role": "user", "text": "Hi"}, {"role": "agent", "text": "Hello"}])
