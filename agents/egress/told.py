"""The egress rules in the form of the pod: secrets for the gateway alone, and what the engine must know."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from agents.models import Agent, Egress
from agents.pod.gateway.egress import authority


def is_limited(agent: Agent) -> bool | None:
    """Whether the list is on; None if the agent never had any rules."""
    egress: Egress | None = getattr(agent, "egress", None)
    return None if egress is None else egress.is_limited


def secrets_of(agent: Agent) -> dict[str, Any]:
    """For the gateway; empty if the agent does not use the broker."""
    egress: Egress | None = getattr(agent, "egress", None)
    if egress is None or not egress.is_used:
        return {}
    names = ("hosts", "header", "prefix", "value")
    return {
        "limited": egress.is_limited,
        "hosts": egress.hosts,
        "networks": [str(network) for network in settings.POD_EGRESS_CIDRS],
        "secrets": [{name: one[name] for name in names} for one in egress.secrets],
    }


def authority_of(agent: Agent) -> str:
    """For the engine: the certificate of its gateway's own authority. "" if the agent does not use the broker."""
    egress: Egress | None = getattr(agent, "egress", None)
    if egress is None or not egress.is_used:
        return ""
    return authority.certificate_of(agent.ticket_key)
