"""The promises to customers: an answer of 200 or 204 is a promise; without an answer both results are possible."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# The status of the agent after each acknowledged request.
WANTED = {"create": "running", "resume": "running", "rebuild": "running", "pause": "stopped", "delete": "deleted"}


@dataclass(slots=True)
class Promise:
    """The state in which an owner must find an agent."""

    agent_id: str
    account: str
    hook_path: str
    hook_secret: str = field(repr=False)
    wanted: set[str] = field(default_factory=lambda: {"running"})
    settings: dict[str, Any] = field(default_factory=dict)  # the last acknowledged values, by their names in the API

    @property
    def deleted(self) -> bool:
        return self.wanted == {"deleted"}

    def acknowledge(self, verb: str) -> None:
        self.wanted = {WANTED[verb]}

    def refused(self, verb: str, *, unsure: bool) -> None:
        """Refused because of the agent's status. An earlier try without an answer may have caused that status."""
        if unsure:
            self.wanted = {*self.wanted, WANTED[verb]}
