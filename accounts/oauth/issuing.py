"""From a person's yes to a key: each answer makes one key at most."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils.dateparse import parse_datetime

from accounts import keys
from accounts.keys import KeyLimits
from accounts.models import ApiKey, User
from accounts.oauth import clients
from accounts.oauth.models import OAuthGrant
from accounts.scopes import Scope
from config.crypto import sha256
from config.errors import Conflict

CODE_LIFETIME = timedelta(minutes=5)
DEVICE_LIFETIME = timedelta(minutes=15)
KEPT = timedelta(days=1)  # a code that is used twice ends its key, for so long
UNANSWERED_KEPT = timedelta(minutes=15)  # of a device's code after its end: anybody may ask for one


class LostCode(Conflict):
    message = "code: the person who allowed it is gone"


class UsedCode(Conflict):
    message = "code: it was used before; the key that it made is revoked now"


def find(code: str, *, client_id: str, is_device: bool) -> OAuthGrant | None:
    """The grant with this code, also one that is over."""
    rows = OAuthGrant.objects.filter(pk=sha256(code), client_id=client_id, user_code_digest__isnull=not is_device)
    return rows.select_related("user").first()


def allow(grant: OAuthGrant, *, user: User, limits: KeyLimits, now: datetime) -> None:
    """Set the person's yes. Raises what keys.create raises: the person can mend it now, the program cannot later."""
    keys.check(user, limits, now=now)
    keys.check_room(user, now=now)
    told = {
        "scopes": [scope.value for scope in Scope if scope in (limits.scopes or ())],
        "agentId": limits.agent_id,
        "expiresAt": limits.expires_at and limits.expires_at.isoformat(),
        "spendLimitUsd": _text(limits.spend_limit_usd),
        "usdPerDay": _text(limits.day_usd),
        "usdPerMonth": _text(limits.month_usd),
    }
    grant.user, grant.limits, grant.answered_at = user, told, now


def deny(grant: OAuthGrant, *, user: User, now: datetime) -> None:
    """Set the person's no."""
    grant.user, grant.limits, grant.answered_at = user, None, now


def waiting(user_code: str, *, now: datetime) -> OAuthGrant | None:
    """The unanswered grant of the device that shows this code, locked until the transaction ends."""
    rows = OAuthGrant.objects.filter(user_code_digest=sha256(user_code), expires_at__gt=now, answered_at__isnull=True)
    return rows.select_for_update().first()


def issue(grant: OAuthGrant, *, now: datetime) -> tuple[ApiKey, str]:
    """Make the key that was allowed. Returns it with its secret. Raises UsedCode, and what keys.create raises.

    The person is locked first, as the deletion of an account does.
    """
    with transaction.atomic():
        person = User.objects.select_for_update(no_key=True).filter(pk=grant.user_id, is_active=True).first()
        # Without the key's row: of a row that waited for its lock, joined rows are as they were before the wait.
        row = OAuthGrant.objects.select_for_update().filter(pk=grant.pk).first()
        if person is None or row is None:
            raise LostCode
        if row.key_id is None:
            name = clients.key_name(row.client_name, row.client_id)
            key, secret = keys.create(person, name=name, limits=limits_of(row), now=now)
            OAuthGrant.objects.filter(pk=row.pk).update(key=key)
            return key, secret
    end_key(row, now=now)
    raise UsedCode


def end_key(grant: OAuthGrant, *, now: datetime) -> None:
    """Revoke the key of a code that came twice: one of the two who brought it has stolen it."""
    if grant.key_id is not None and grant.user is not None:
        keys.revoke(grant.user, grant.key_id, now=now)


def limits_of(grant: OAuthGrant) -> KeyLimits:
    told: dict[str, Any] = grant.limits or {}
    return KeyLimits(
        scopes={Scope(one) for one in told["scopes"]},
        agent_id=told["agentId"],
        expires_at=told["expiresAt"] and parse_datetime(told["expiresAt"]),
        spend_limit_usd=_usd(told["spendLimitUsd"]),
        day_usd=_usd(told.get("usdPerDay")),  # a grant of an earlier release has none
        month_usd=_usd(told.get("usdPerMonth")),
    )


def _text(usd: Decimal | None) -> str | None:
    return None if usd is None else str(usd)


def _usd(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)
