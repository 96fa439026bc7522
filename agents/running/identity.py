"""The key and certificate by which the control plane recognises an agent's gateway. They are made once and kept in the
agent's row."""

from __future__ import annotations

from agents.models import Agent
from agents.runtimes import certificates


def ensured(agent: Agent) -> Agent:
    """Return the agent with an identity for its gateway. The first worker that needs the identity makes it; the others
    read it.

    Agents of a release without certificates get one at their pod's next step.
    """
    if not agent.gateway_certificate:
        made = certificates.make()
        without = Agent.objects.filter(pk=agent.pk, gateway_certificate="")
        without.update(gateway_key=made.key, gateway_certificate=made.certificate)
        agent.refresh_from_db(fields=["gateway_key", "gateway_certificate"])
    return agent
