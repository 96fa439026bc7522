"""Stored replies of requests with an Idempotency-Key: reserve first, then keep the reply or release the reservation."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from accounts.models import IdempotentReply, User
from config.errors import Conflict, Unprocessable

KEPT = timedelta(hours=24)
RESERVED = timedelta(seconds=60)
RETRY_SECONDS = 2


class StillRunning(Conflict):
    def __init__(self) -> None:
        super().__init__(
            "Idempotency-Key: the first request with this key is still running; try again for its reply",
            headers={"Retry-After": str(RETRY_SECONDS)},
        )


class OtherBody(Unprocessable):
    message = "Idempotency-Key: this key was used with another body; use a new key for a new request"


@transaction.atomic
def reserve(user: User, *, method: str, path: str, key: str, fingerprint: str, now: datetime) -> IdempotentReply:
    """Return the stored reply, or a row without `status`: a reservation that now belongs to the caller.

    A reservation older than 60 seconds counts as left by a dead process, and the caller takes it over. Raises
    OtherBody, StillRunning.
    """
    fresh = {"fingerprint": fingerprint, "created_at": now, "reserved_at": now, "status": None, "reply": None}
    replies = IdempotentReply.objects.select_for_update()
    row, created = replies.get_or_create(user=user, method=method, path=path, key=key, defaults=fresh)
    if created:
        return row
    if row.created_at <= now - KEPT:
        return _renew(row, **fresh)
    if row.fingerprint != fingerprint:
        raise OtherBody
    if row.status is not None:
        return row
    if row.reserved_at > now - RESERVED:
        raise StillRunning
    return _renew(row, reserved_at=now)


def keep(reservation: IdempotentReply, *, status: int, reply: dict[str, Any]) -> None:
    """Store the reply. Raises StillRunning if another request has taken over the reservation meanwhile."""
    if not _held(reservation).update(status=status, reply=reply):
        raise StillRunning


def release(reservation: IdempotentReply) -> None:
    """Delete the reservation, so that the same request can come again at once."""
    _held(reservation).delete()


def _held(reservation: IdempotentReply) -> Any:
    return IdempotentReply.objects.filter(pk=reservation.pk, reserved_at=reservation.reserved_at, status__isnull=True)


def _renew(row: IdempotentReply, **fields: Any) -> IdempotentReply:
    for name, value in fields.items():
        setattr(row, name, value)
    row.save(update_fields=list(fields))
    return row
