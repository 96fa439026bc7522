"""Looks: an operator sees a person's pages as the person does, read-only and for fifteen minutes at most.

A look is no session of the person. Its token is in a cookie of its own, opens the account pages alone, and counts only
while the operator's own session in the console lasts.
"""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from importlib import import_module

from django.conf import settings
from django.db import transaction
from django.db.models import F, Func, Value
from django.db.models.functions import Cast

from accounts.helping.models import PLACE_LENGTH, StaffLook
from accounts.models import User
from config import audit
from config.audit import Acting
from config.crypto import sha256
from config.errors import Forbidden

LASTS = timedelta(minutes=15)
MAY_LOOK = "accounts.see_as_person"
TOKEN_BYTES = 32
MOST_PLACES = 100
ENDED = "Stopped seeing as they see"
BY_ITSELF, BY_OPERATOR, ANOTHER = "the time was over", "ended by the operator", "another look began"
SIGNED_OUT = "the operator signed out"


class NotToBeLookedAt(Forbidden):
    def __init__(self, user: User, why: str) -> None:
        super().__init__(f"{user}: {why}")


@transaction.atomic
def begin(user: User, *, operator: User, console: str, reason: str, now: datetime) -> tuple[StaffLook, str]:
    """Begin a look. Return it and its token, which is not stored. The operator's earlier look ends.

    `console` is the key of the operator's session in the console. Raises NotToBeLookedAt.
    """
    if why := refusal(user):
        raise NotToBeLookedAt(user, why)
    User.objects.select_for_update(no_key=True).get(pk=operator.pk)  # two at once must not leave two looks open
    end_all(operator, why=ANOTHER, address=audit.acting().address, now=now)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    look = StaffLook.objects.create(
        user=user,
        operator=operator,
        digest=sha256(token),
        console=console,
        reason=reason,
        began_at=now,
        ends_at=now + LASTS,
    )
    return look, token


def refusal(user: User) -> str:
    """Why nobody may look at this person's pages; "" if operators with the right may."""
    if user.is_staff or user.is_superuser:
        return "operators' own accounts cannot be looked at"
    return "the account is deleted" if user.closed_at is not None or user.is_erased else ""


def find(token: str, *, now: datetime) -> StaffLook | None:
    """The look with this token; None if it has ended for any reason, such as a sign-out of the operator."""
    looks = StaffLook.objects.select_related("user", "operator")
    open_ones = looks.filter(ended_at=None, ends_at__gt=now, places__len__lt=MOST_PLACES)
    look = open_ones.filter(digest=sha256(token)).first()
    return look if look and _may_go_on(look) else None


def _may_go_on(look: StaffLook) -> bool:
    operator = look.operator
    may = operator.is_active and operator.is_staff and operator.has_perm(MAY_LOOK)
    return may and not refusal(look.user) and _is_signed_in(look)


def _is_signed_in(look: StaffLook) -> bool:
    """Whether the session of the console, in which the look began, is still the operator's."""
    store = import_module(settings.SESSION_ENGINE).SessionStore(session_key=look.console)
    return bool(look.console) and store.get("_auth_user_id") == look.operator_id


def note_place(look: StaffLook, path: str) -> None:
    """Remember that this page was looked at. A look that has MOST_PLACES pages is over, so none is missing."""
    place = path[:PLACE_LENGTH]
    rows = StaffLook.objects.filter(pk=look.pk).exclude(places__contains=[place])
    rows.update(
        places=Func(F("places"), Cast(Value(place), StaffLook.places.field.base_field), function="array_append")
    )


def close(token: str, *, address: str, now: datetime) -> str:
    """End the look with this token, if it has not ended. Return the id of its person; "" if there is no such look."""
    look = StaffLook.objects.filter(digest=sha256(token)).select_related("user", "operator").first()
    if look is None:
        return ""
    end(look, why=BY_ITSELF if look.ends_at <= now else BY_OPERATOR, address=address, now=now)
    return look.user_id


def end_all(operator: User, *, why: str, address: str, now: datetime) -> None:
    """End the open looks of this operator."""
    for look in StaffLook.objects.filter(operator=operator, ended_at=None).select_related("user", "operator"):
        end(look, why=why, address=address, now=now)


def end(look: StaffLook, *, why: str, address: str = "", now: datetime) -> None:
    """End the look, and record which pages were looked at. Ending it again changes nothing."""
    with transaction.atomic():
        at = min(now, look.ends_at)
        open_one = StaffLook.objects.filter(pk=look.pk, ended_at=None)
        if not open_one.update(ended_at=at, console=""):
            return
        places = StaffLook.objects.values_list("places", flat=True).get(pk=look.pk)
        person = Acting(who=look.operator.email, who_id=look.operator_id, address=address)
        seen = [("looked at", "", place) for place in places]
        audit.note(ENDED, look.user, reason=f"{why}, at {at:%H:%M:%S} UTC", changes=seen, by=person)


def end_over(*, now: datetime) -> int:
    """End the looks whose time is over, so that the audit log has their end. Return their number."""
    over = list(StaffLook.objects.filter(ended_at=None, ends_at__lte=now).select_related("user", "operator")[:1_000])
    for look in over:
        end(look, why=BY_ITSELF, now=now)
    return len(over)


def of(user: User, *, most: int) -> list[StaffLook]:
    """The looks at this person's pages, newest first."""
    return list(StaffLook.objects.filter(user=user).select_related("operator")[:most])
