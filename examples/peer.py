"""The demo's second agent, which the first agent asks."""

from __future__ import annotations

from agentpods import Agentpods, types
from agentpods.errors import NotSettledError
from examples.checks import SETTLE_SECONDS, Wrong
from examples.outside import TIER


class Peer:
    """The second agent. `agent` is None while it does not exist. `pods` is set before the first step."""

    pods: Agentpods

    def __init__(self) -> None:
        self.agent: types.Agent | None = None

    def make(self, persona_id: str, llm_key: str, model: str) -> types.PeerRequest:
        """Create the agent, wait until it runs, and return its entry for `peers` of another agent."""
        made = self.pods.agents.create(
            personaId=persona_id, tier=TIER, engine="pi", name="Robin", a2a={"enabled": True}
        )
        self.agent = made["agent"]
        try:
            self.pods.agents.wait(self.agent["id"], seconds=SETTLE_SECONDS)
        except NotSettledError as error:
            raise Wrong(f"the second agent: {error}") from error
        agent = self.agent = self.pods.agents.set_llm_key(self.agent["id"], provider="openai", key=llm_key, model=model)
        return {"name": "robin", "url": agent["a2aUrl"] or "", "token": agent["a2aToken"]}

    def delete(self) -> None:
        """Delete the second agent."""
        if self.agent:
            self.pods.agents.delete(self.agent["id"])
        self.agent = None
