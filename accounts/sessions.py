"""Sessions: what a sign-in by an e-mailed code gives, for 30 days."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from accounts.errors import InvalidSession
from accounts.models import Attribution, Session, User
from config.crypto import sha256

LIFETIME = timedelta(days=30)
TOKEN_PREFIX = "st_live_"  # noqa: S105  # the same for all
TOKEN_BYTES = 32


def start(user: User, *, attribution: Attribution | None, now: datetime) -> tuple[Session, str]:
    """A new session and its token, which is not stored and cannot be shown again."""
    token = f"{TOKEN_PREFIX}{secrets.token_hex(TOKEN_BYTES)}"
    session = Session.objects.create(
        user=user, digest=sha256(token), attribution=attribution, created_at=now, expires_at=now + LIFETIME
    )
    return session, token


def find(token: str, *, now: datetime) -> Session:
    """The live session of this token. Raises InvalidSession."""
    session = Session.objects.live(now=now).select_related("user").filter(digest=sha256(token)).first()
    if session is None or not session.user.is_active:
        raise InvalidSession
    return session


def end(session: Session) -> None:
    """The token stops working at once. Ending what has ended succeeds."""
    Session.objects.filter(pk=session.pk).delete()
