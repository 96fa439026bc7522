"""The rules of waiting for an agent, without the network."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal

from agentpods.errors import NotSettledError

Goal = Literal["settled", "running", "stopped", "deleted"]
LONGEST_WAIT = 60  # seconds; the service waits no longer
PAUSES = (1.0, 2.0, 5.0)  # seconds, where the service answers at once


class AgentWatch:
    """One `wait`: how long the next call may take, and whether the agent is where it was wanted."""

    def __init__(self, goal: Goal, *, seconds: float) -> None:
        self._goal = goal
        self._deadline = time.monotonic() + seconds
        self._asked = 0.0
        self._looks = 0

    def next_wait(self) -> int:
        """The seconds for the header `Prefer`."""
        self._asked = time.monotonic()
        return max(1, int(min(self._deadline - self._asked, LONGEST_WAIT)))

    def pause(self) -> float:
        """The seconds until the next look. None where the service has waited itself."""
        pause = PAUSES[min(self._looks, len(PAUSES) - 1)]
        self._looks += 1
        return max(0.0, min(pause - (time.monotonic() - self._asked), self._deadline - time.monotonic()))

    def is_over(self, agent: Mapping[str, Any]) -> bool:
        """Whether the agent has settled as wanted. Raises NotSettledError where it will not, or not in time."""
        status = agent.get("status")
        settled = status in {"running", "stopped", "failed", "deleted"}
        if status == self._goal or (settled and self._goal == "settled"):
            return True
        if status in {"failed", "deleted"}:
            raise NotSettledError(f"the agent is {status}, not {self._goal}: explain says why", agent=agent)
        if time.monotonic() >= self._deadline:
            raise NotSettledError(f"the agent is still {status}, not {self._goal}", agent=agent)
        return False
