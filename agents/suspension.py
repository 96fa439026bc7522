"""Accounts closed for abuse: their keys and sessions answer 401, their agents stop, and their terms stand still.

`suspend` and `restore` only record the decision. `enforce` then stops or starts the agents that it finds, a batch at a
time. So an agent that is started at the same moment is stopped too, and a crash in between loses nothing.
"""

from __future__ import annotations

import logging

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.errors import AccountClosed
from accounts.models import Suspension, User
from agents import entitlement
from agents.models import Agent, AgentQuerySet, Desired, Reason, Status
from agents.running import lifecycle
from config import background, clock
from config.errors import ServiceError

log = logging.getLogger(__name__)

BATCH = 200  # agents in one run. A run takes some seconds, so other tasks of the queue run in between
TASK = "agents.enforce_suspensions"
UNKNOWN_ACTOR = "suspension"


@transaction.atomic
def suspend(user: User, *, reason: str, actor: str) -> Suspension:
    """Close the account from now on. Does nothing if the account is already suspended.

    Raises ClockDiffers, because paid time stands still from exactly this moment.
    """
    now = clock.now()
    user = _locked(user)
    suspension = user.suspensions.filter(restored_at__isnull=True).first()
    if suspension is not None and not user.is_active:
        return suspension
    user.is_active = False
    user.save(update_fields=["is_active"])
    background.on_commit(TASK)
    return suspension or user.suspensions.create(reason=reason, suspended_at=now, suspended_by=actor)


@transaction.atomic
def restore(user: User, *, actor: str) -> User:
    """Open the account again: tokens are valid again, terms go on, and the agents that the suspension stopped start.

    Raises ClockDiffers, because paid time ends later by the length of the suspension; AccountClosed.
    """
    now = clock.now()
    user = _locked(user)
    if user.closed_at is not None:
        raise AccountClosed
    suspension = user.suspensions.filter(restored_at__isnull=True).first()
    if suspension is not None:
        suspension.restored_at, suspension.restored_by = now, actor
        suspension.save(update_fields=["restored_at", "restored_by"])
        entitlement.give_back(user, since=suspension.suspended_at, now=now)
    if not user.is_active:
        user.is_active = True
        user.save(update_fields=["is_active"])
        background.on_commit(TASK)
    return user


def enforce() -> int:
    """Stop agents of suspended accounts, and start agents that a past suspension stopped. Returns their number. After a
    full batch it wakes the task again."""
    running = Agent.objects.filter(user__is_active=False, desired=Desired.RUNNING).order_by("pk")
    stop, start = list(running[:BATCH]), list(_to_start()[:BATCH])
    last = _last_suspensions([*stop, *start])
    for agent in stop:
        lifecycle.pause(agent, reason=Reason.SUSPENDED, actor=last[agent.user_id].suspended_by)
    for agent in start:
        _resume(agent, actor=last[agent.user_id].restored_by)
    if BATCH in {len(stop), len(start)}:
        background.on_commit(TASK)
    return len(stop) + len(start)


def _to_start() -> AgentQuerySet:
    """Agents that were stopped by a suspension that is over, and that are still paid for or free."""
    entitled = Q(entitled_until__isnull=True) | Q(entitled_until__gt=timezone.now())
    held = Agent.objects.filter(operation=Reason.SUSPENDED, desired=Desired.STOPPED, status=Status.STOPPED)
    return held.filter(entitled, user__is_active=True).order_by("pk")


def _last_suspensions(agents: list[Agent]) -> dict[str, Suspension]:
    """The newest suspension of each of these agents' accounts. An account without a recorded one gets UNKNOWN_ACTOR."""
    users = {agent.user_id for agent in agents}
    rows = Suspension.objects.filter(user__in=users).order_by("suspended_at")
    nobody = Suspension(suspended_by=UNKNOWN_ACTOR, restored_by=UNKNOWN_ACTOR)
    return dict.fromkeys(users, nobody) | {row.user_id: row for row in rows}


def _resume(agent: Agent, *, actor: str) -> None:
    """Resume the agent. Something newer, such as another suspension, may refuse it; the next run tries again."""
    try:
        lifecycle.resume(agent, actor=actor or UNKNOWN_ACTOR)
    except ServiceError as refusal:
        log.info("not started after a suspension", extra={"agent": agent.id, "refusal": refusal.message})


def _locked(user: User) -> User:
    """The account's row, locked. Creating an agent takes the same lock."""
    return User.objects.select_for_update(no_key=True).get(pk=user.pk)
