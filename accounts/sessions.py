"""Sessions: a sign-in with a mailed code starts one. It lasts 30 days."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from django.db.models import DateTimeField, QuerySet, Value
from django.db.models.functions import Cast

from accounts.errors import InvalidSession, NoSuchSession
from accounts.models import Attribution, Session, User
from config.compiled_query import CompiledModel
from config.crypto import sha256
from config.ids import is_id

LIFETIME = timedelta(days=30)
TOKEN_PREFIX = "st_live_"  # noqa: S105  # the same for all tokens
TOKEN_BYTES = 32
SEEN_PRECISION = timedelta(hours=1)


def start(user: User, *, attribution: Attribution | None, client: str = "", now: datetime) -> tuple[Session, str]:
    """Start a session. Return the session and its token, which is not stored and cannot be shown again."""
    token = f"{TOKEN_PREFIX}{secrets.token_hex(TOKEN_BYTES)}"
    session = Session.objects.create(
        user=user,
        digest=sha256(token),
        attribution=attribution,
        client=client,
        created_at=now,
        seen_at=now,
        expires_at=now + LIFETIME,
    )
    return session, token


def _live_with(digest: str, now: str) -> QuerySet[Session]:
    return Session.objects.live(now=Cast(Value(now), DateTimeField())).filter(digest=digest)


_with_token = CompiledModel(Session, _live_with, values=("digest", "now"), with_related="user")


def find(token: str, *, now: datetime) -> Session:
    """The valid session with this token. Its use is recorded. Raises InvalidSession."""
    session = _with_token.first(digest=sha256(token), now=now.isoformat())
    if session is None or not session.user.is_active:
        raise InvalidSession
    if session.seen_at is None or session.seen_at < now - SEEN_PRECISION:
        Session.objects.filter(pk=session.pk, seen_at=session.seen_at).update(seen_at=now)  # once
    return session


def of(user: User, *, most: int, now: datetime) -> list[Session]:
    """The user's live sessions, newest first."""
    return list(Session.objects.live(now=now).filter(user=user)[:most])


def end(session: Session) -> None:
    """End the session: its token stops working at once. Ending it again succeeds."""
    Session.objects.filter(pk=session.pk).delete()


def end_own(user: User, session_id: str) -> None:
    """End the user's session with this id.

    Raises NoSuchSession if it has ended, belongs to another user, or never existed.
    """
    own = Session.objects.filter(user=user, pk=session_id) if is_id("ses", session_id) else Session.objects.none()
    if not own.delete()[0]:
        raise NoSuchSession


def end_others(session: Session) -> int:
    """End all other sessions of this session's user. Return how many ended. API keys stay."""
    return Session.objects.filter(user_id=session.user_id).exclude(pk=session.pk).delete()[0]
