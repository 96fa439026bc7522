"""`If-Match`: a change is made only if the agent is still as its caller has read it.

The check is part of locking the agent's row, so nothing can change between the check and the change.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING

from agents.errors import AgentWasChanged

if TYPE_CHECKING:
    from agents.models import Agent

IsExpected = Callable[["Agent"], bool]

_expected: ContextVar[tuple[str, IsExpected] | None] = ContextVar("expected", default=None)


def expect(agent_id: str, is_expected: IsExpected) -> None:
    """Check the agent when this request locks it for the first time: afterwards the request itself changes it."""
    _expected.set((agent_id, is_expected))


def forget() -> None:
    """Expect nothing any more. Each request ends with it."""
    _expected.set(None)


def checked(agent: Agent) -> Agent:
    """The agent, if it is as expected. Raises AgentWasChanged."""
    expected = _expected.get()
    if expected is None or expected[0] != agent.pk:
        return agent
    forget()
    if not expected[1](agent):
        raise AgentWasChanged
    return agent
