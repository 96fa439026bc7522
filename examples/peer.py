"""The demo's second agent, which the first agent asks."""

from __future__ import annotations

from typing import Any

from examples.client import SETTLE_SECONDS, Client, Wrong, every
from examples.outside import TIER


class Peer:
    """The second agent. `agent` is empty while it does not exist."""

    def __init__(self, api: Client) -> None:
        self.api = api
        self.agent: dict[str, Any] = {}

    def make(self, persona_id: str, key: dict[str, str]) -> dict[str, str]:
        """Create the agent, wait until it runs, and return its entry for `peers` of another agent."""
        body = {"personaId": persona_id, "tier": TIER, "engine": "pi", "name": "Robin", "a2a": {"enabled": True}}
        self.agent = self.api.ask("POST", "/agents", body)["agent"]
        self._wait()
        self.api.ask("PATCH", f"/agents/{self.agent['id']}/llm-key", key)
        return {"name": "robin", "url": self.agent["a2aUrl"], "token": self.agent["a2aToken"]}

    def delete(self) -> None:
        """Delete the second agent."""
        self.api.ask("DELETE", f"/agents/{self.agent['id']}", status=204)
        self.agent = {}

    def _wait(self) -> None:
        for _ in every(0.5, SETTLE_SECONDS):
            self.agent = self.api.ask("GET", f"/agents/{self.agent['id']}")["agent"]
            if self.agent["status"] == "running":
                return
        raise Wrong(f"the second agent is {self.agent['status']}")
