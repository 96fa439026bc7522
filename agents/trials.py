"""How many free trials a mailbox has had. Deleted agents count, and so do all accounts whose mail goes to this
mailbox."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from django.db.models import DateTimeField, Func, Q, TextField, Value
from django.db.models.functions import Cast

from accounts import mailbox
from accounts.models import User
from agents.errors import TrialsUsedUp
from agents.models import Agent, AgentQuerySet
from config.crypto import keyed_digest
from config.operator_settings import operator_settings

DIGEST = "digest:"


def lock(user: User) -> list[Func]:
    """For the statement that locks the account: it locks the mailbox too, so that two creates cannot both take its last
    trial. Empty where trials are not limited.
    """
    if not operator_settings.MAX_TRIALS:
        return []
    name = Value(f"trials {mailbox.inbox(user.email)}")
    held = "pg_advisory_xact_lock(hashtextextended(%(expressions)s, 0))"
    return [Func(name, template=held, output_field=TextField())]


def values(user: User, *, now: datetime) -> dict[str, str]:
    """What `counted` asks for, as text."""
    inbox = mailbox.inbox(user.email)
    since = now - timedelta(days=operator_settings.MAX_TRIALS_DAYS)
    return {"user_id": user.pk, "inbox": inbox, "hidden_inbox": hidden(inbox), "since": since.isoformat()}


def counted(user_id: str, inbox: str, hidden_inbox: str, since: str) -> AgentQuerySet:
    """The trials of the last days, the newest first. A paid agent is no trial.

    They are found by the present mailbox and by the account: an operator may have changed the account's address.
    """
    theirs = Q(inbox__in=[inbox, hidden_inbox]) | Q(user=user_id)
    recent = Agent.objects.unpaid().filter(theirs, created_at__gt=Cast(Value(since), DateTimeField()))
    return recent.order_by("-created_at", "-id")


def refuse_used_up(user: User, created: list[datetime], *, now: datetime) -> None:
    """Raise TrialsUsedUp when the mailbox has used up the trials of the last days.

    `created` has the times of those that are `counted`, of one more than are allowed at most.
    """
    limit, days = operator_settings.MAX_TRIALS, operator_settings.MAX_TRIALS_DAYS
    if not limit or len(created) < limit:
        return
    frees = created[limit - 1] + timedelta(days=days)
    again = datetime.fromtimestamp(math.ceil(frees.timestamp()), UTC)  # a create in that second is not refused again
    own = counted(**values(user, now=now)).owned_by(user.pk).live().values_list("pk", flat=True).first()
    raise TrialsUsedUp(limit=limit, days=days, again=again, payable=own if len(created) == limit else None)


def hidden(inbox: str) -> str:
    """The text that replaces the mailbox of an account that its owner has deleted."""
    return f"{DIGEST}{keyed_digest(f'trials {inbox}')}"
