"""The events of a turn. From the bridge to the gateway, and from there to the control plane, they are NDJSON: one JSON
object per line. At the edge they are converted for clients (server-sent events, OpenAI's protocol, A2A).

`delta` {text}, `part` {part}, then `done` {reply, session_id, ending} or `error` {hop, message, reason}. Empty lines
show that the turn still runs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from agents.pod.turns.failures import Hop, HopFailure
from agents.pod.turns.parts import Allowance, Part, TurnEnding, wire

NDJSON = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class Delta:
    text: str


@dataclass(frozen=True, slots=True)
class PartGiven:
    part: Part


@dataclass(frozen=True, slots=True)
class Done:
    """The whole reply. The bridge leaves out the session's id, which the gateway knows."""

    reply: str
    session_id: str = ""
    ending: TurnEnding = TurnEnding.ANSWER


TurnEvent = Delta | PartGiven | Done


def line(event: TurnEvent | HopFailure) -> bytes:
    return json.dumps(_told(event)).encode() + b"\n"


def _told(event: TurnEvent | HopFailure) -> dict[str, Any]:
    match event:
        case Delta(text):
            return {"type": "delta", "text": text}
        case PartGiven(part):
            return {"type": "part", "part": wire(part)}
        case Done(reply, session_id, ending):
            named = {"session_id": session_id} if session_id else {}
            return {"type": "done", "reply": reply, **named, **_ending(ending)}
        case HopFailure():
            return {"type": "error", **event.wire()}


def _ending(ending: TurnEnding) -> dict[str, str]:
    return {} if ending is TurnEnding.ANSWER else {"ending": ending.value}


class EventReader:
    """Reads the events of one turn, which another program sends. That program may be hostile, or of another release:
    unknown fields are ignored.
    """

    def __init__(self, teller: Hop, *, broken: str) -> None:
        """`broken` is the message of the failure if the other program (`teller`) does not keep to this form."""
        self.broken = HopFailure(teller, broken)
        self.parts = Allowance()

    def read(self, told: Any) -> TurnEvent | None:
        """The event; None for a part above the limit of parts. Raises HopFailure: the reported one, or `broken`."""
        match told:
            case {"type": "delta", "text": str(text)}:
                return Delta(text)
            case {"type": "part", "part": raw}:
                part = self.parts.read(raw)
                return PartGiven(part) if part else None
            case {"type": "done", "reply": str(reply), **more}:
                return Done(reply, str(more.get("session_id", "")), _read_ending(more.get("ending")))
            case {"type": "error", "hop": hop, "message": message, **more}:
                reason = more.get("reason")
                raise HopFailure(
                    self.broken.hop.or_behind(hop), str(message), reason=reason if isinstance(reason, str) else None
                )
        raise self.broken


def _read_ending(said: Any) -> TurnEnding:
    """An ending that this release does not know counts as a plain answer."""
    return next((ending for ending in TurnEnding if ending.value == said), TurnEnding.ANSWER)
