"""The API keys that start turns, and their limits.

The control plane says with a turn which key started it, on the listener that the engine cannot call. With the turn, and
with each exchange of figures, it tells the limits of keys and what their turns have cost. The newest word about a key
holds.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from agents.pod.gateway.answers import Refusal
from agents.pod.gateway.spending.limits import SpendingLimits, Spent

LATE_SECONDS = 60.0
MARKS = 64  # of one message of a peer
_ID = re.compile(r"key_[0-9a-f]{24}")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyState:
    """What is known of one API key."""

    id: str
    limits: SpendingLimits
    at: float  # when this was so, by the control plane's clock
    day: str  # to which `spent` belongs
    spent: Spent  # by turns with all agents of the account
    book: str  # `spent` has the batches of this book until `ack`
    ack: int

    @classmethod
    def load(cls, raw: Mapping[str, Any], beside: Mapping[str, Any]) -> Self:
        """`beside` has the values that the states of all keys share. Raises KeyError, TypeError or ValueError."""
        if not _ID.fullmatch(raw["id"]):
            raise ValueError("id")
        return cls(
            id=raw["id"],
            limits=SpendingLimits.load({**raw["limits"], "key_name": str(raw["name"])}),
            at=float(beside["now"]),
            day=str(beside["day"]),
            spent=Spent(day=int(raw["spent"]["day"]), month=int(raw["spent"]["month"])),
            book=str(beside["book"]),
            ack=int(beside["ack"]),
        )

    def spent_on(self, day: str, waiting: Spent) -> Spent:
        """What its turns have cost on this day and in its month, with what the control plane does not have yet."""
        known = self.spent
        return Spent(
            day=waiting.day + (known.day if self.day == day else 0),
            month=waiting.month + (known.month if self.day[:7] == day[:7] else 0),
        )


def of_turn(body: Mapping[str, Any]) -> KeyState | None:
    """The key that started a turn; None if no key did. Raises Refusal for anything else."""
    told = body.get("api_key")
    if told is None:
        return None
    try:
        return KeyState.load(told, told)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Refusal(400, "api_key: must be the state of the API key that started the turn") from error


@dataclass(frozen=True, slots=True)
class ToldKeys:
    """What one exchange tells of the keys with limits of the agent's account."""

    states: tuple[KeyState, ...] = ()
    is_all: bool = False  # whether no other key has a limit

    @classmethod
    def load(cls, raw: Mapping[str, Any]) -> ToldKeys:
        """Raises KeyError, TypeError or ValueError. A control plane of an earlier release tells of no keys."""
        told = raw.get("keys")
        if told is None:
            return cls()
        return cls(tuple(KeyState.load(one, raw) for one in told["states"]), told["all"] is True)


def _mark(api_key: str, token: str) -> str:
    return hmac.new(token.encode(), api_key.encode(), hashlib.sha256).hexdigest()


class KnownKeys:
    """The keys with limits, as far as they were told."""

    def __init__(self) -> None:
        self._states: dict[str, KeyState] = {}

    def take(self, state: KeyState) -> None:
        """A turn of this key begins."""
        if self._is_late(state):
            return
        self._states.pop(state.id, None)
        if state.limits.of_money:
            self._states[state.id] = state

    def take_all(self, told: ToldKeys, *, at: float) -> None:
        """The news of an exchange. What a later turn has told stays."""
        if told.is_all:
            named = {state.id for state in told.states}
            self._states = {
                key: one for key, one in self._states.items() if key in named or 0 < one.at - at < LATE_SECONDS
            }
        for state in told.states:
            self.take(state)

    def of(self, api_keys: Iterable[str]) -> list[KeyState]:
        """Those of these keys that have limits."""
        return [self._states[one] for one in api_keys if one in self._states]

    def marks(self, api_keys: Iterable[str], token: str) -> list[str]:
        """What the peer that takes this token is told of these keys, if they have limits. An agent of the same account
        finds the keys by it; other peers learn nothing.
        """
        return [_mark(state.id, token) for state in self.of(api_keys)][:MARKS]

    def marked(self, marks: Iterable[str], token: str | None) -> tuple[str, ...]:
        """The keys with limits that are meant, by whoever has our token."""
        given = set(marks)
        return tuple(key for key in self._states if token and _mark(key, token) in given) if given else ()

    def _is_late(self, state: KeyState) -> bool:
        """Whether something newer is known. If the difference is large, the control plane's clock was set back."""
        known = self._states.get(state.id)
        return known is not None and 0 < known.at - state.at < LATE_SECONDS
