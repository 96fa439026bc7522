"""Who failed: each failure on the way from a reader to the model belongs to one hop."""

from __future__ import annotations

from enum import StrEnum
from typing import Any


class Hop(StrEnum):
    """The programs on the way, the reader's side first."""

    GATEWAY = "gateway"
    ENGINE = "engine"  # with its bridge
    MODEL = "model"

    def or_behind(self, said: object) -> Hop:
        """The hop that this one names as the one that failed. It can name itself or a hop behind it; anything else
        counts as itself.
        """
        behind = list(Hop)[list(Hop).index(self) :]
        return next((hop for hop in behind if hop == said), self)


class HopFailure(Exception):
    """This hop did not do its part. The message is shown to people. `reason` is a word for which the chat page has a
    text (agents/pod/gateway/reasons.py). `retry_after` are the seconds until a turn may succeed, if they are known.
    """

    def __init__(self, hop: Hop, message: str, *, reason: str | None = None, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.hop = hop
        self.message = message
        self.reason = reason
        self.retry_after = retry_after

    def wire(self) -> dict[str, Any]:
        beside = {"reason": self.reason, "retry_after": self.retry_after}
        return {"hop": self.hop, **{name: value for name, value in beside.items() if value}, "message": self.message}


class EngineError(HopFailure):
    """The engine failed: it is dead, it hangs, or it refused. A bridge that does not answer counts as this too."""

    def __init__(self, message: str) -> None:
        super().__init__(Hop.ENGINE, message)


class ModelError(HopFailure):
    """The engine works, but the model behind it refused, failed or gave no answer."""

    def __init__(self, message: str) -> None:
        super().__init__(Hop.MODEL, message)
