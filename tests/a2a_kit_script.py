"""The engine for the conformance kit: the message's id says what the engine does (the kit's scenarios/*.feature).

An engine does not see message ids, so the proxy in front of the agent passes them to this script. The kit sends one
message at a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agents.pod.turns.parts import DataPart, FilePart, LinkPart, Part, TurnEnding, wire
from tests.doubles.bridge import Event, ReceivedTurn

GENERATED = "Generated text content"
_OUTPUT = {"name": "output.txt", "media_type": "text/plain"}


def says(*words: str, ending: TurnEnding = TurnEnding.ANSWER) -> list[Event]:
    ends = {} if ending is TurnEnding.ANSWER else {"ending": ending.value}
    pieces: list[Event] = [{"type": "delta", "text": word} for word in words]
    return [*pieces, {"type": "done", "reply": "".join(words), **ends}]


def gives(part: Part) -> list[Event]:
    return [{"type": "part", "part": wire(part)}, *says()]


# The order matters: some names begin with another name.
SCENARIOS: Mapping[str, Callable[[], list[Event]]] = {
    "tck-artifact-file-url": lambda: gives(LinkPart(**_OUTPUT, url="https://example.com/output.txt")),
    "tck-artifact-file": lambda: gives(FilePart(**_OUTPUT, content=b"tck")),
    "tck-artifact-data": lambda: gives(DataPart(value={"key": "value", "count": 42})),
    "tck-artifact-text": lambda: says(GENERATED),
    "tck-message-response": lambda: says("Direct message response", ending=TurnEnding.REMARK),
    "tck-input-required": lambda: says(ending=TurnEnding.QUESTION),
    "tck-stream-artifact-chunked": lambda: says("chunk-1 ", "chunk-2"),
    "tck-stream-artifact-text": lambda: says("Streamed text content"),
    "tck-stream-artifact-file": lambda: gives(FilePart(**_OUTPUT, content=b"tck")),
    "tck-stream-ordering-001": lambda: says("Ordered output"),
    "tck-stream-001": lambda: says("Stream hello from TCK"),
    "tck-stream-002": says,
    "tck-stream-003": lambda: says("Stream task lifecycle"),
    "": lambda: says("Hello from TCK"),
}


class Script:
    def __init__(self) -> None:
        self._message_id = ""

    def hear(self, body: bytes) -> None:
        """Read the id of the message that the agent gets next."""
        try:
            said: Any = json.loads(body)["params"]["message"]["messageId"]
        except (ValueError, LookupError, TypeError):
            return
        self._message_id = str(said)

    def turn(self, _: ReceivedTurn) -> Iterable[Event]:
        return next(act() for prefix, act in SCENARIOS.items() if self._message_id.startswith(prefix))
