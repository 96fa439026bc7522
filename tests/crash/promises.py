"""What customers were promised: an answer of 200 or 204 is a promise, one that never came leaves both ways open."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# What each acknowledged request makes of the agent.
WANTED = {"create": "running", "resume": "running", "rebuild": "running", "pause": "stopped", "delete": "deleted"}


@dataclass(slots=True)
class Promise:
    """One agent, as its owner must find it."""

    agent_id: str
    account: str
    hook_path: str
    hook_secret: str = field(repr=False)
    wanted: set[str] = field(default_factory=lambda: {"running"})
    settings: dict[str, Any] = field(default_factory=dict)  # the wire's names, last acknowledged values

    @property
    def deleted(self) -> bool:
        return self.wanted == {"deleted"}

    def acknowledge(self, verb: str) -> None:
        self.wanted = {WANTED[verb]}

    def refused(self, verb: str, *, unsure: bool) -> None:
        """Refused for its state. Where an earlier try got no answer, that one may have been what made the state so."""
        if unsure:
            self.wanted = {*self.wanted, WANTED[verb]}
