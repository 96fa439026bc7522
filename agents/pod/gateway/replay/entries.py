"""The words of the replay. The control plane knows them too."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from agents.cause import Cause
from agents.pod.gateway.reasons import FailureReason

# One entry, as it is handed over. Names without a value are left out.
Entry = dict[str, Any]


class EntryKind(StrEnum):
    TURN_BEGAN = "turn.began"
    MODEL_CALL = "model.call"
    TOOL_CALL = "tool.call"  # the model asked for a tool; the engine decides whether it runs
    TURN_ENDED = "turn.ended"
    TURN_FAILED = "turn.failed"
    NOT_KEPT = "not.kept"  # so many entries of this day found no room


class TurnDoor(StrEnum):
    """How the question came in."""

    CHAT = "chat"
    A2A = "a2a"
    TEST = "test"
    CHANNEL = "channel"  # a message of a channel that comes through the gateway, such as WhatsApp
    SHARED = "shared"  # several turns ran at once, and the engine does not say for which one it asks
    ENGINE = "engine"  # the engine by itself: a channel of its own, a schedule or its page


# The words of `explain` for the reasons of a failed turn.
CAUSES = {
    FailureReason.KEY_REFUSED: Cause.MODEL_KEY_REFUSED,
    FailureReason.NO_CREDIT: Cause.MODEL_LIMIT,
    FailureReason.TOO_MANY: Cause.MODEL_LIMIT,
    FailureReason.OVERLOADED: Cause.MODEL_FAILING,
    FailureReason.UNREACHABLE: Cause.MODEL_UNREACHABLE,
    FailureReason.NO_MODEL: Cause.MODEL_REFUSED,
    FailureReason.CROWDED: Cause.BUSY,
}
