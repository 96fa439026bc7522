"""State machines. Each has one table of its transitions and one function that assigns its column.

tests/config/test_states.py lists them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import TypeVar

State = TypeVar("State", bound=str)


class IllegalTransition(RuntimeError):
    """A bug in our code: the table of the state machine does not allow this transition."""


def check(transitions: Mapping[State, Set[State]], before: State, to: State, *, of: str) -> None:
    """Raise IllegalTransition unless the table leads from one state to the other. `of` names the row."""
    if to not in transitions[before]:
        raise IllegalTransition(f"{of}: {before} to {to}")


def before(transitions: Mapping[State, Set[State]], to: State) -> list[State]:
    """The states that lead to `to`, for an update of many rows."""
    return [state for state, following in transitions.items() if to in following]
