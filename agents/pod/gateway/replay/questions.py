"""What a model call asks: the text of the last message in its body."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agents.pod.gateway.llm.body import Body
from agents.pod.gateway.replay.texts import READ_CHARACTERS

# Where the four protocols have their messages, and a message its text.
_MESSAGES = ("messages", "input", "contents")
_TEXTS = ("content", "parts", "text", "output", "functionResponse", "response")
_DEEPEST = 6
_MOST_PIECES = 50


def last_message(body: Body) -> str:
    """Empty if the body has none, or is so large that it is sent while it still arrives."""
    if not isinstance(body, bytes):
        return ""
    try:
        call = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    messages = next((call[name] for name in _MESSAGES if call.get(name)), "") if isinstance(call, dict) else ""
    last = messages[-1] if isinstance(messages, list) else messages
    found, size = [], 0
    for _, text in zip(range(_MOST_PIECES), _texts(last, 0), strict=False):
        found.append(text[:READ_CHARACTERS])
        size += len(text)
        if size >= READ_CHARACTERS:
            break
    return " ".join(found)


def _texts(value: Any, depth: int) -> Iterator[str]:
    """The texts in a message: it is a text, or has parts, of a result of a tool too."""
    if isinstance(value, str):
        yield value
    elif depth < _DEEPEST and isinstance(value, list):
        for one in value:
            yield from _texts(one, depth + 1)
    elif depth < _DEEPEST and isinstance(value, dict):
        for name in _TEXTS:
            if name in value:
                yield from _texts(value[name], depth + 1)
