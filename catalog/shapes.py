"""Checks the form of a persona's JSON columns. Every write uses these checks."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError

DEMO_ROLES = ("user", "agent")


def check_does_examples(examples: Any, does: Any) -> None:
    """Raise ValidationError unless it is an object with one question for each label, or None."""
    if examples is None:
        return
    if not isinstance(examples, dict) or not all(isinstance(text, str) and text.strip() for text in examples.values()):
        raise ValidationError({"does_examples": "must be an object of label to question"})
    if isinstance(does, list) and set(examples) != set(does):
        wrong = ", ".join(sorted(set(examples) ^ set(does)))
        raise ValidationError({"does_examples": f"must have exactly the labels of `does`; differs in: {wrong}"})


def check_demo(demo: Any) -> None:
    """Raise ValidationError unless it is a non-empty array of lines, or None."""
    if demo is None:
        return
    if not isinstance(demo, list) or not demo:
        raise ValidationError({"demo": "must be a non-empty array of lines"})
    for number, line in enumerate(demo, start=1):
        if not _is_line(line):
            raise ValidationError({"demo": f"line {number} must be {{role: user or agent, text}}"})


def _is_line(line: Any) -> bool:
    return (
        isinstance(line, dict)
        and set(line) == {"role", "text"}
        and line["role"] in DEMO_ROLES
        and isinstance(line["text"], str)
        and bool(line["text"].strip())
    )
