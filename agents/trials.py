"""How many free trials a mailbox has had. Deleted agents count, and so do all accounts whose mail goes to this
mailbox."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from django.db.models import Q

from accounts import mailbox
from accounts.models import User
from agents.errors import TrialsUsedUp
from agents.models import Agent, AgentQuerySet
from config import sql
from config.crypto import keyed_digest
from config.operator_settings import operator_settings

DIGEST = "digest:"


def hold(user: User, *, now: datetime) -> None:
    """Lock the mailbox, so that two creates cannot both take the last trial. Needs a transaction.

    Raises TrialsUsedUp.
    """
    if not operator_settings.MAX_TRIALS:
        return
    sql.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"trials {mailbox.inbox(user.email)}"])
    refuse_used_up(user, now=now)


def refuse_used_up(user: User, *, now: datetime) -> None:
    """Raise TrialsUsedUp when the mailbox has used up the trials of the last days. A paid agent is no trial."""
    limit, days = operator_settings.MAX_TRIALS, operator_settings.MAX_TRIALS_DAYS
    if not limit:
        return
    counted = _trials(user).filter(created_at__gt=now - timedelta(days=days)).order_by("-created_at", "-id")
    newest = list(counted.values_list("created_at", flat=True)[: limit + 1])
    if len(newest) < limit:
        return
    frees = newest[limit - 1] + timedelta(days=days)
    again = datetime.fromtimestamp(math.ceil(frees.timestamp()), UTC)  # a create in that second is not refused again
    own = counted.owned_by(user.pk).live().values_list("pk", flat=True).first() if len(newest) == limit else None
    raise TrialsUsedUp(limit=limit, days=days, again=again, payable=own)


def _trials(user: User) -> AgentQuerySet:
    """The trials found by the present mailbox and by the account: an operator may have changed the account's
    address."""
    inbox = mailbox.inbox(user.email)
    return Agent.objects.unpaid().filter(Q(inbox__in=[inbox, hidden(inbox)]) | Q(user=user))


def hidden(inbox: str) -> str:
    """The text that replaces the mailbox of an account that its owner has deleted."""
    return f"{DIGEST}{keyed_digest(f'trials {inbox}')}"
