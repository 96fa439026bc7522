"""What an agent may run on: free time at first, then what billing grants.

The only writer of `paid` and `entitled_until`.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from accounts.models import User
from agents.errors import FreePodCapReached
from agents.models import Agent


def trial_end(created_at: datetime) -> datetime:
    """When the free time of an agent ends; it is counted from its creation (spec: Agent `createdAt`)."""
    return created_at + timedelta(days=settings.TRIAL_DAYS)


def hold_free_place(user: User) -> None:
    """Take the account's lock, so that two creates cannot both have the last place. Needs a transaction."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    refuse_full(user)


def refuse_full(user: User) -> None:
    """Raise FreePodCapReached when the account's free agents are used up."""
    count = Agent.objects.owned_by(user.pk).live().unpaid().count()
    if count >= settings.MAX_FREE_AGENTS:
        raise FreePodCapReached(count, settings.MAX_FREE_AGENTS)


@transaction.atomic
def grant(agent: Agent, *, until: datetime | None) -> Agent:
    """Paid until then, or for as long as it is not withdrawn (null)."""
    return _set(agent, paid=True, until=until)


@transaction.atomic
def withdraw(agent: Agent, *, until: datetime) -> Agent:
    """No longer paid; the pod may run until the grace ends."""
    return _set(agent, paid=False, until=until)


def _set(agent: Agent, *, paid: bool, until: datetime | None) -> Agent:
    agent = Agent.objects.select_for_update().get(pk=agent.pk)
    agent.paid, agent.entitled_until = paid, until
    agent.save(update_fields=["paid", "entitled_until"])
    return agent
