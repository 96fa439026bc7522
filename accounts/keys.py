"""API keys: long-lived credentials that a person hands to an agent."""

from __future__ import annotations

import logging
import secrets
import string
import threading
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import DatabaseError, transaction
from django.db.models import DateTimeField, Q, QuerySet, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast

from accounts.errors import (
    BadCursor,
    ExpiredKey,
    ExpiresInThePast,
    InvalidKey,
    LimitWithoutOperate,
    LimitWithoutPay,
    LimitWithoutScopes,
    NoSuchKey,
    TooManyKeys,
    UnknownAgentOfKey,
)
from accounts.models import KEY_PREFIX_LENGTH, ApiKey, User
from accounts.scopes import Scope
from config.compiled_query import CompiledModel
from config.crypto import sha256
from config.ids import is_id
from config.operator_settings import operator_settings

log = logging.getLogger(__name__)

SECRET_PREFIX = "ak_live_"  # noqa: S105  # the same for all keys
SECRET_CHARACTERS = 40
PAGE_SIZE = 1_000
LAST_USED_PRECISION = timedelta(seconds=60)
MAX_NOTED = 10_000

_ALPHABET = string.ascii_letters + string.digits

# When this process last recorded the use of each key, newest last. Only one of several threads writes.
_noted: dict[str, datetime] = {}
_noting = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLimits:
    """What a new key may do. Without any limit it is a full key that does not expire."""

    scopes: Collection[Scope] | None = None
    agent_id: str | None = None
    expires_at: datetime | None = None
    spend_limit_usd: Decimal | None = None
    day_usd: Decimal | None = None  # of model calls
    month_usd: Decimal | None = None

    @property
    def of_models(self) -> bool:
        return self.day_usd is not None or self.month_usd is not None


FULL = KeyLimits()


@transaction.atomic
def create(user: User, *, name: str, limits: KeyLimits = FULL, now: datetime) -> tuple[ApiKey, str]:
    """Create a key.

    Return the key and its secret, which is not stored and cannot be shown again. Raises TooManyKeys, and what `check`
    raises.
    """
    check(user, limits, now=now)
    User.objects.select_for_update(no_key=True).get(pk=user.pk)  # two at once must not take one last place
    check_room(user, now=now)
    secret = SECRET_PREFIX + "".join(secrets.choice(_ALPHABET) for _ in range(SECRET_CHARACTERS))
    key = ApiKey.objects.create(
        user=user,
        name=name,
        prefix=secret[:KEY_PREFIX_LENGTH],
        digest=digest(secret) if limits == FULL else limited_digest(secret),
        created_at=now,
        scopes=None if limits.scopes is None else [scope.value for scope in Scope if scope in limits.scopes],
        agent_id=limits.agent_id,
        expires_at=limits.expires_at,
        spend_limit_usd=limits.spend_limit_usd,
        day_usd=limits.day_usd,
        month_usd=limits.month_usd,
    )
    return key, secret


def check(user: User, limits: KeyLimits, *, now: datetime) -> None:
    """Raises LimitWithoutScopes, LimitWithoutPay, LimitWithoutOperate, ExpiresInThePast, UnknownAgentOfKey."""
    if limits.scopes is None and limits.agent_id is not None:
        raise LimitWithoutScopes("agentId")
    if limits.scopes is None and limits.spend_limit_usd is not None:
        raise LimitWithoutScopes("spendLimitUsd")
    if limits.spend_limit_usd is not None and Scope.PAY not in (limits.scopes or ()):
        raise LimitWithoutPay
    if limits.of_models:
        check_operates(limits.scopes)
    if limits.expires_at is not None and limits.expires_at <= now:
        raise ExpiresInThePast(limits.expires_at, now=now)
    if limits.agent_id is not None and not _owns(user, limits.agent_id):
        raise UnknownAgentOfKey


def check_operates(scopes: Collection[str] | None) -> None:
    """Only such a key has limits of model calls. Raises LimitWithoutOperate."""
    if Scope.OPERATE not in (scopes or ()):
        raise LimitWithoutOperate


def check_room(user: User, *, now: datetime) -> None:
    """Raises TooManyKeys."""
    live = ApiKey.objects.owned_by(user).filter(is_unexpired(now), revoked_at__isnull=True).count()
    if live >= operator_settings.MAX_KEYS:
        raise TooManyKeys(live, operator_settings.MAX_KEYS)


def _owns(user: User, agent_id: str) -> bool:
    return is_id("agt", agent_id) and user.agents.live().filter(pk=agent_id).exists()


def revoke(user: User, key_id: str, *, now: datetime) -> None:
    """Revoke a key: it stops working at once and stays in the list.

    Raises NoSuchKey. Revoking it again changes nothing.
    """
    key = own(user, key_id)
    ApiKey.objects.filter(pk=key.pk, revoked_at__isnull=True).update(revoked_at=now)


def own(user: User, key_id: str) -> ApiKey:
    """The user's key with this id. Raises NoSuchKey, also for keys of others."""
    key = ApiKey.objects.owned_by(user).filter(pk=key_id).first() if is_id("key", key_id) else None
    if key is None:
        raise NoSuchKey
    return key


def page(
    user: User, *, only: str | None = None, after: str | None = None, size: int | None = None
) -> tuple[list[ApiKey], str | None]:
    """The user's keys, newest first, including revoked ones, and the cursor of the next page if there is one.

    `only` is the id of the one key that the caller may see. Raises BadCursor.
    """
    keys, size = ApiKey.objects.owned_by(user), size or PAGE_SIZE
    if only is not None:
        keys = keys.filter(pk=only)
    if after is not None:
        last = keys.filter(pk=after).first() if is_id("key", after) else None
        if last is None:
            raise BadCursor
        keys = keys.filter(Q(created_at__lt=last.created_at) | Q(created_at=last.created_at, pk__lt=last.pk))
    found = list(keys[: size + 1])
    return found[:size], found[size - 1].pk if len(found) > size else None


def _valid_with(digest: str, limited_digest: str, now: str) -> QuerySet[ApiKey]:
    return ApiKey.objects.filter(is_valid(Cast(Value(now), DateTimeField())), digest__in=(digest, limited_digest))


_with_secret = CompiledModel(ApiKey, _valid_with, values=("digest", "limited_digest", "now"), with_related="user")


def find(secret: str, *, now: datetime) -> ApiKey:
    """The valid key with this secret. Its use is recorded. Raises InvalidKey, ExpiredKey."""
    digests = digest(secret), limited_digest(secret)
    key = _with_secret.first(digest=digests[0], limited_digest=digests[1], now=now.isoformat())
    if key is None:
        raise _refusal(digests)
    key.last_used_at = note_use(key.pk, key.last_used_at, now=now)
    return key


def _refusal(digests: Collection[str]) -> InvalidKey:
    """Why no key with one of these digests is valid. A key that was revoked counts as revoked, also after its end."""
    expired = ApiKey.objects.filter(
        digest__in=digests, revoked_at__isnull=True, user__is_active=True, expires_at__isnull=False
    ).first()
    return ExpiredKey(expired.expires_at) if expired and expired.expires_at else InvalidKey()


def told(key: ApiKey) -> str:
    """What the key may do, for operators."""
    if key.scopes is None:
        return "everything"
    return ", ".join(key.scopes) + (f", {key.agent_id} alone" if key.agent_id else "")


def is_valid(now: datetime | Combinable, of: str = "") -> Q:
    """The keys that still work. `of` is the path to them in a query of other rows."""
    return Q((f"{of}revoked_at__isnull", True), (f"{of}user__is_active", True)) & is_unexpired(now, of)


def is_unexpired(now: datetime | Combinable, of: str = "") -> Q:
    return Q((f"{of}expires_at__isnull", True)) | Q((f"{of}expires_at__gt", now))


def digest(secret: str) -> str:
    """What is stored of a full key's secret, to find it."""
    return sha256(secret)


def limited_digest(secret: str) -> str:
    """What is stored of the secret of a key with limits.

    An older release that knows no limits does not find the key, and so does not take it for a full one.
    """
    return sha256(f"limited {secret}")


def note_use(key_id: str, last_used_at: datetime | None, *, now: datetime) -> datetime | None:
    """Set `last_used_at`, exact to a minute: at most one write per minute, however many threads use the key.

    Return when the key was last used, as it is noted now.
    """
    stale = now - LAST_USED_PRECISION
    if (last_used_at is not None and last_used_at >= stale) or not _is_first(key_id, now=now):
        return last_used_at
    old = Q(last_used_at__isnull=True) | Q(last_used_at__lt=stale)
    try:
        ApiKey.objects.filter(old, pk=key_id).update(last_used_at=now)
    except DatabaseError:  # no reason to refuse the call: the database may take reads only
        log.warning("the use of a key is not noted", exc_info=True)
        return last_used_at
    return now


def _is_first(key_id: str, *, now: datetime) -> bool:
    """Whether this thread should record the use: no other thread of the process has done so in the last minute."""
    with _noting:
        noted = _noted.pop(key_id, None)
        if noted is not None and abs(now - noted) < LAST_USED_PRECISION:
            _noted[key_id] = noted
            return False
        _noted[key_id] = now
        if len(_noted) > MAX_NOTED:
            del _noted[next(iter(_noted))]
        return True
