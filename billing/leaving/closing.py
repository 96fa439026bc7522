"""STATE MACHINE of an account's deletion by its owner: asked (for a week), closing (until all has ended), done.

In the week after the request, agents are paused, renewals are cancelled, and the owner may call the deletion off. After
that nobody can sign in, and the agents are deleted with their data. Once pods, backups and cards have ended, the rest
of the person's data is erased in one transaction (`erasing`). Each step checks the present state: if a worker is
killed, the step stays due, and repeating a step changes nothing.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import transaction

from accounts import mail_choices
from accounts.models import User
from agents.models import Agent, Desired, Reason
from agents.running import lifecycle
from billing import cancellation, reminders
from billing.leaving import erasing
from billing.models import AccountDeletion, DeletionStage, Subscription
from billing.models.deletions import OPEN
from config import background, outgoing_mail
from config.errors import Conflict, Forbidden, ServiceError

log = logging.getLogger(__name__)

GRACE = timedelta(days=7)
LEASE = timedelta(minutes=5)
AGAIN = timedelta(seconds=30)
LATER = timedelta(days=1)  # for an account that is suspended: its deletion waits
LATE = timedelta(days=2)  # after this time in `closing`, an error is logged for the operator
BATCH = 20

TRANSITIONS: dict[DeletionStage, set[DeletionStage]] = {
    DeletionStage.ASKED: {DeletionStage.CLOSING, DeletionStage.CALLED_OFF},
    DeletionStage.CLOSING: {DeletionStage.DONE},
    DeletionStage.DONE: set(),
    DeletionStage.CALLED_OFF: set(),
}


class OperatorsStay(Forbidden):
    message = "this account may open the console: an operator must remove that right first"


class TooLate(Conflict):
    message = "this account is being deleted already, or its deletion was not requested"


# Calls by the owner.


@transaction.atomic
def ask(user: User, *, lang: str, now: datetime) -> AccountDeletion:
    """Ask for the deletion in a week. If it was asked for before, return that row. Raises OperatorsStay."""
    user = _locked_user(user.pk)
    if user.is_staff:
        raise OperatorsStay
    if found := of(user):
        return found
    deletion = AccountDeletion.objects.create(user=user, lang=lang, asked_at=now, closes_at=now + GRACE, due_at=now)
    _tell(deletion, "account_deletion_asked")
    background.on_commit("billing.close_accounts")
    return deletion


@transaction.atomic
def call_off(user: User, *, now: datetime) -> None:
    """Keep the account. Agents stay paused and renewals cancelled; the owner starts again what they want.

    Raises TooLate.
    """
    deletion = AccountDeletion.objects.select_for_update().filter(user=user, stage=DeletionStage.ASKED).first()
    if deletion is None:
        raise TooLate
    _move(deletion, DeletionStage.CALLED_OFF, due_at=None, done_at=now)
    _tell(deletion, "account_deletion_called_off")


def of(user: User) -> AccountDeletion | None:
    return AccountDeletion.objects.filter(user=user, stage__in=OPEN).first()


# Calls by workers.


def step_due(*, now: datetime) -> int:
    """Take one step of each due deletion. Returns how many. A step that fails is logged, and is due again."""
    erasing.forget_mailboxes(now=now)
    taken = 0
    while taken < BATCH and (deletion := _claimed(now=now)):
        taken += 1
        try:
            _step(deletion, now=now)
        except Exception:
            log.exception("an account's deletion failed, and is tried again", extra={"deletion": deletion.pk})
    return taken


@transaction.atomic
def _claimed(*, now: datetime) -> AccountDeletion | None:
    due = AccountDeletion.objects.filter(due_at__lte=now).order_by("due_at")
    deletion = due.select_for_update(skip_locked=True, of=("self",)).first()
    if deletion is not None:
        deletion.due_at = now + LEASE
        deletion.save(update_fields=["due_at"])
    return deletion


def _step(deletion: AccountDeletion, *, now: datetime) -> None:
    if deletion.stage == DeletionStage.CLOSING:
        _finish(deletion, now=now)
    elif now >= deletion.closes_at:
        _close(deletion, now=now)
    else:
        _wind_down(deletion, now=now)


def _wind_down(deletion: AccountDeletion, *, now: datetime) -> None:
    """Pause the agents and cancel renewals, so that no card is charged in a week in which nothing is used."""
    for agent in Agent.objects.owned_by(deletion.user_id).live().order_by("pk"):
        if not AccountDeletion.objects.filter(pk=deletion.pk, stage=DeletionStage.ASKED).exists():
            return
        lifecycle.pause(agent, reason=Reason.OWNER, actor=f"user:{deletion.user_id}")
        _cancel_renewal(agent, deletion.user, now=now)
    asked = AccountDeletion.objects.filter(pk=deletion.pk, stage=DeletionStage.ASKED)
    asked.update(wound_down_at=now, due_at=deletion.closes_at)


def _cancel_renewal(agent: Agent, user: User, *, now: datetime) -> None:
    row = Subscription.objects.paid().filter(agent=agent).first()
    if row is None or not reminders.renews_itself(row):
        return
    try:
        cancellation.cancel(user, row.pk, actor=f"user:{user.pk}", now=now)
    except ServiceError as refusal:  # it has ended in the meantime
        log.info(
            "a subscription was not cancelled before a deletion",
            extra={"subscription": row.pk, "refusal": refusal.message},
        )


@transaction.atomic
def _close(deletion: AccountDeletion, *, now: datetime) -> None:
    """Close the account; after this the deletion cannot be called off.

    Creating an agent takes the lock of the account too, so no agent is created after this.
    """
    user = _locked_user(deletion.user_id)
    deletion = AccountDeletion.objects.select_for_update(of=("self",)).get(pk=deletion.pk)
    if deletion.stage != DeletionStage.ASKED:
        return
    if not user.is_active:
        AccountDeletion.objects.filter(pk=deletion.pk).update(due_at=now + LATER, waits_for="a suspension")
        return
    user.is_active, user.closed_at = False, now
    user.save(update_fields=["is_active", "closed_at"])
    _tell(deletion, "account_deleted")
    _move(deletion, DeletionStage.CLOSING, due_at=now, closed_at=now)
    background.on_commit("billing.close_accounts")


def _finish(deletion: AccountDeletion, *, now: datetime) -> None:
    for agent in Agent.objects.owned_by(deletion.user_id).exclude(desired=Desired.DELETED).order_by("pk"):
        lifecycle.delete(agent, actor=f"user:{deletion.user_id}", why="its account is deleted")
    if waits_for := erasing.waits_for(deletion.user, closed_at=deletion.closed_at or now, now=now):
        if now - (deletion.closed_at or now) > LATE:
            log.error("an account is not deleted yet: %s", waits_for, extra={"deletion": deletion.pk})
        AccountDeletion.objects.filter(pk=deletion.pk).update(due_at=now + AGAIN, waits_for=waits_for)
        return
    erasing.away(deletion.user, now=now)
    _end(deletion, now=now)


@transaction.atomic
def _end(deletion: AccountDeletion, *, now: datetime) -> None:
    """Erase the person's data and mark the deletion as done, in one transaction."""
    user = _locked_user(deletion.user_id)
    erasing.here(user)
    deletion = AccountDeletion.objects.select_for_update(of=("self",)).get(pk=deletion.pk)
    _move(deletion, DeletionStage.DONE, due_at=None, done_at=now, waits_for="")


def _move(deletion: AccountDeletion, stage: DeletionStage, **values: object) -> None:
    """The only function that assigns a stage, together with these values. The caller holds the row's lock. Raises
    TooLate."""
    if stage not in TRANSITIONS[DeletionStage(deletion.stage)]:
        raise TooLate
    for name, value in {"stage": stage, **values}.items():
        setattr(deletion, name, value)
    deletion.save(update_fields=["stage", *values])


def _tell(deletion: AccountDeletion, name: str) -> None:
    mail = outgoing_mail.rendered(
        name,
        lang=mail_choices.language(deletion.user, otherwise=deletion.lang),
        closes_at=deletion.closes_at,
        days=GRACE.days,
    )
    outgoing_mail.write(deletion.user_id, mail)


def _locked_user(user_id: str) -> User:
    return User.objects.select_for_update(no_key=True).get(pk=user_id)
