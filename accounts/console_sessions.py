"""Sessions of the console. Django's own session holds the id of a row here: who deletes the row ends the session."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import Enum
from typing import cast

from django.contrib.auth.models import Group
from django.db.models import BooleanField, DateTimeField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast
from django.http import HttpRequest
from django.utils import timezone

from accounts import client_address, clients
from accounts.console_models import ConsoleSession, Factor, Proof
from accounts.models import User
from config.compiled_query import CompiledModel
from config.operator_settings import operator_settings

LIFETIME = timedelta(days=14)
SEEN_PRECISION = timedelta(minutes=1)
TO_CONFIRM = timedelta(minutes=10)  # from the password to the second factor
MOST = 50  # of one person; the oldest ends
AUDITOR = "auditor"
_ID = "console"  # in Django's session
_FOUND = "_console_session"  # on the request


class Missing(Enum):
    """What a session lacks before the console opens."""

    NOTHING = 0
    SECOND_FACTOR = 1
    ENROLMENT = 2  # the person has no second factor, and the role needs one
    SIGN_IN = 3  # too long ago: the person begins again


def start(request: HttpRequest, user: User, *, now: datetime) -> ConsoleSession:
    """Start a session for somebody who has just signed in. The one that this browser had ends."""
    ConsoleSession.objects.filter(pk=request.session.get(_ID, "")).delete()
    row = ConsoleSession.objects.create(
        user=user,
        created_at=now,
        seen_at=now,
        confirmed_at=now,
        address=client_address.of(request.META)[:64],
        client=clients.named(request.META),
    )
    request.session[_ID] = row.pk
    request.__dict__.pop(_FOUND, None)
    beyond = list(ConsoleSession.objects.filter(user=user).values_list("pk", flat=True)[MOST : 2 * MOST])
    ConsoleSession.objects.filter(pk__in=beyond).delete()
    return row


def of(request: HttpRequest) -> ConsoleSession | None:
    """The request's live session, read once. Its use is recorded, at most once a minute."""
    if not hasattr(request, _FOUND):
        setattr(request, _FOUND, _find(request, now=timezone.now()))
    return cast("ConsoleSession | None", getattr(request, _FOUND))


def is_live(*, now: datetime) -> Q:
    """Of people who may sign in, and not too old."""
    return _is_live(now - LIFETIME)


def _is_live(since: datetime | Combinable) -> Q:
    return Q(created_at__gt=since, user__is_active=True, user__is_staff=True)


def live(*, now: datetime) -> QuerySet[ConsoleSession]:
    return ConsoleSession.objects.filter(is_live(now=now))


def missing(session: ConsoleSession, *, now: datetime) -> Missing:
    """What the session lacks. Whoever has a factor is asked for it, whatever the setting says."""
    if session.proof:
        return Missing.NOTHING
    if getattr(session, "has_factor", False):
        return Missing.SECOND_FACTOR if now < session.created_at + TO_CONFIRM else Missing.SIGN_IN
    return Missing.ENROLMENT if must_have_one(session) else Missing.NOTHING


def confirm(session: ConsoleSession, proof: Proof, *, now: datetime) -> None:
    """Record that the person has proved again who they are. `Proof.NONE` is the password, if they have no factor."""
    session.proof, session.confirmed_at = proof or session.proof, now
    ConsoleSession.objects.filter(pk=session.pk).update(proof=session.proof, confirmed_at=now)


def end(request: HttpRequest) -> None:
    ConsoleSession.objects.filter(pk=request.session.get(_ID, "")).delete()


def end_others(session: ConsoleSession) -> int:
    """End all other sessions of this session's person. Return how many ended."""
    return of_user(session.user_id).exclude(pk=session.pk).delete()[0]


def end_all(user: User) -> int:
    return of_user(user.pk).delete()[0]


def of_user(user_id: str) -> QuerySet[ConsoleSession]:
    return ConsoleSession.objects.filter(user_id=user_id)


def is_exempt() -> ExpressionWrapper[Combinable]:
    """Whether a session's user has the role of an auditor and no right beside it."""
    groups = User.groups.through.objects.filter(user_id=OuterRef("user_id"))
    auditors = Group.objects.filter(name=AUDITOR).values("pk")
    own_rights = User.user_permissions.through.objects.filter(user_id=OuterRef("user_id"))
    only = (
        Exists(groups.filter(group_id__in=auditors))
        & ~Exists(groups.exclude(group_id__in=auditors))
        & ~Exists(own_rights)
    )
    return ExpressionWrapper(only, output_field=BooleanField())


def _own(row_id: str, user_id: str, since: str) -> QuerySet[ConsoleSession]:
    own = ConsoleSession.objects.filter(_is_live(Cast(Value(since), DateTimeField())), pk=row_id, user_id=user_id)
    has_factor = Exists(Factor.objects.filter(user_id=OuterRef("user_id")))
    return own.annotate(has_factor=has_factor, is_exempt=is_exempt())


_row = CompiledModel(
    ConsoleSession,
    _own,
    values=("row_id", "user_id", "since"),
    annotated=("has_factor", "is_exempt"),
    deferred={"pending"},
)


def _find(request: HttpRequest, *, now: datetime) -> ConsoleSession | None:
    if not request.user.is_authenticated:
        return None
    row_id = request.session.get(_ID)
    if not row_id:
        return None
    row = _row.first(row_id=row_id, user_id=request.user.pk, since=(now - LIFETIME).isoformat())
    if row is None:
        return None
    row.user = request.user
    if row.seen_at < now - SEEN_PRECISION:
        address = client_address.of(request.META)[:64]
        ConsoleSession.objects.filter(pk=row.pk, seen_at=row.seen_at).update(seen_at=now, address=address)
    return row


def must_have_one(session: ConsoleSession) -> bool:
    """Whether the person may not go without a second factor. `session` is one that `of` found."""
    wanted = operator_settings.SECOND_FACTOR
    if wanted == "required":
        return session.user.is_superuser or not getattr(session, "is_exempt", False)
    return wanted == "everyone"
