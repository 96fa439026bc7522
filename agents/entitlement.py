"""How long an agent may run: its free time first, then what billing grants.

Only this module writes `paid` and `entitled_until`.
"""

from __future__ import annotations

import functools
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.postgres.expressions import ArraySubquery
from django.db import transaction
from django.db.models import F, IntegerField, QuerySet, Subquery

from accounts.errors import AccountSuspended
from accounts.models import User
from agents import trials
from agents.errors import AboveTrialTier, FreePodCapReached, LargerOnlyPaid, NoFreePlaceLeft
from agents.models import Agent
from catalog.models import Tier
from catalog.vocabulary import TierId
from config import sql
from config.compiled_query import CompiledQuery
from config.operator_settings import operator_settings

FREE_PLACES_LOCK = 0x66726565  # "free" as ASCII: the advisory lock of MAX_FREE_AGENTS_TOTAL


def trial_end(created_at: datetime) -> datetime:
    """When the free time of an agent ends, counted from its creation (docs/spec.md: Agent, `createdAt`)."""
    return created_at + timedelta(days=operator_settings.TRIAL_DAYS)


def first_notice(created_at: datetime) -> datetime:
    """When the owner is first told that the free time ends."""
    return trial_end(created_at) - timedelta(days=max(settings.NOTICE_DAYS))


def is_in_trial(agent: Agent, now: datetime) -> bool:
    """Whether nobody ever paid for the agent and its free time is not over."""
    return not agent.was_paid and now < (agent.trial_ends_at or trial_end(agent.created_at))


def hold_free_place(user: User, *, now: datetime) -> None:
    """Lock the account and its mailbox, so that two creates cannot both take the last free place or trial. Needs a
    transaction.

    A suspension takes the same lock: either it finds this agent, or this create finds the suspension. Raises
    AccountSuspended, FreePodCapReached, TrialsUsedUp and NoFreePlaceLeft.
    """
    locked = User.objects.select_for_update(no_key=True).filter(pk=user.pk)
    is_active, *_ = locked.values_list("is_active", *trials.lock(user)).get()
    if not is_active:
        raise AccountSuspended
    refuse_full(user, now=now)
    _hold_place_of_all()


def _hold_place_of_all() -> None:
    """Hold the platform's limit of free agents in the same way. The lock is taken only where there is such a limit."""
    if not operator_settings.MAX_FREE_AGENTS_TOTAL:
        return
    sql.execute("select pg_advisory_xact_lock(%s)", [FREE_PLACES_LOCK])
    refuse_full_platform()


def refuse_full_platform() -> None:
    """Raise NoFreePlaceLeft when the free agents of all accounts are used up."""
    limit = operator_settings.MAX_FREE_AGENTS_TOTAL
    if limit and Agent.objects.live().unpaid().count() >= limit:
        raise NoFreePlaceLeft


def refuse_full(user: User, *, now: datetime) -> None:
    """Raise FreePodCapReached when the account's free agents are used up, or TrialsUsedUp when the trials of its
    mailbox are. One statement counts both.
    """
    [[count, tried]] = _counting(operator_settings.MAX_TRIALS + 1).rows(**trials.values(user, now=now))
    if count >= operator_settings.MAX_FREE_AGENTS:
        raise FreePodCapReached(count, operator_settings.MAX_FREE_AGENTS)
    trials.refuse_used_up(user, tried, now=now)


@functools.cache
def _counting(most_trials: int) -> CompiledQuery:
    """How many free agents the account has, and when the newest trials were begun."""

    def build(user_id: str, **of: str) -> QuerySet[User, Any]:
        free = Agent.objects.owned_by(user_id).live().unpaid()
        tried = ArraySubquery(trials.counted(user_id, **of).values("created_at")[:most_trials])
        return User.objects.filter(pk=user_id).values_list(_NumberOf(free.values("pk")), tried)

    return CompiledQuery(build, values=("user_id", "inbox", "hidden_inbox", "since"))


class _NumberOf(Subquery):
    template = "(SELECT count(*) FROM (%(subquery)s) counted)"
    output_field = IntegerField()


def refuse_larger(agent: Agent, tier: Tier, *, now: datetime) -> None:
    """Raise LargerOnlyPaid after the free time, AboveTrialTier for a tier that no unpaid agent may have."""
    if not is_in_trial(agent, now):
        raise LargerOnlyPaid(agent.id, tier.id)
    refuse_above_trial(tier)


def refuse_above_trial(tier: Tier) -> None:
    """Raise AboveTrialTier when an agent that nobody pays for may not have this tier."""
    highest = operator_settings.MAX_TRIAL_TIER
    if tier.rank > TierId.values.index(highest):
        raise AboveTrialTier(tier.id, highest)


def give_back(user: User, *, since: datetime, now: datetime) -> None:
    """Give back the time of a suspension: free and paid times that had not ended by `since` end later by that much.

    The due time makes billing look at these agents at once: its terms count the same suspensions, and others too.
    """
    live = Agent.objects.owned_by(user.pk).live()
    live.filter(trial_ends_at__gt=since).update(trial_ends_at=F("trial_ends_at") + (now - since))
    live.filter(entitled_until__gt=since).update(entitled_until=F("entitled_until") + (now - since), term_due_at=now)


@transaction.atomic
def grant(agent: Agent, *, until: datetime | None) -> Agent:
    """Mark the agent as paid until `until`, or with None until the grant is withdrawn."""
    return _set(agent, paid=True, until=until)


@transaction.atomic
def withdraw(agent: Agent, *, until: datetime) -> Agent:
    """Mark the agent as no longer paid. Its pod may run until `until`, the end of the grace."""
    return _set(agent, paid=False, until=until)


def _set(agent: Agent, *, paid: bool, until: datetime | None) -> Agent:
    agent = Agent.objects.lock(agent.pk)
    agent.paid, agent.was_paid, agent.entitled_until = paid, agent.was_paid or paid, until
    agent.save(update_fields=["paid", "was_paid", "entitled_until"])
    return agent
