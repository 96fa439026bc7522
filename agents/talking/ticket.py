"""The link to the pod's own page. It works once, for one minute."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from accounts.models import ApiKey
from agents.errors import HopFailed, WrongState
from agents.models import Agent, Status
from agents.pod import tickets
from agents.runtimes import current_runtime
from config import dry_run
from config.errors import Forbidden


@dataclass(frozen=True, slots=True)
class TicketLink:
    url: str
    expires_at: datetime


class PageIsNotCounted(Forbidden):
    message = (
        "scope: model calls of your key's turns are limited, and turns on the agent's page would not count for it;"
        " POST /agents/{id}/chat talks to the agent"
    )


def mint(agent: Agent, *, key: ApiKey | None = None) -> TicketLink:
    """Make a new link. Raises PageIsNotCounted for an API key with a limit of model calls, WrongState unless the agent
    is running, HopFailed when its pod has no address.
    """
    if key is not None and key.has_model_limits:
        raise PageIsNotCounted
    if agent.status != Status.RUNNING:
        raise WrongState("ticket", agent.status, "it has a page only while it is running")
    now = timezone.now()
    expires_at = now + timedelta(seconds=tickets.LIFETIME_SECONDS)
    if dry_run.skips("url (its pod)"):  # whoever has a link is let in, so a dry run makes none
        return TicketLink(url="", expires_at=expires_at)
    endpoint = current_runtime().endpoint(agent.namespace)
    if endpoint is None:
        raise HopFailed("gateway", "the pod has no address")
    token = tickets.mint(agent.ticket_key, agent.namespace, now)
    return TicketLink(url=f"{endpoint.public_url}/ticket?t={token}", expires_at=expires_at)
