"""Recovery codes: ten, for a person who has lost all factors. Each works once."""

from __future__ import annotations

import secrets
from datetime import datetime

from accounts.console_models import RecoveryCode
from accounts.models import User
from config.crypto import keyed_digest

COUNT = 10
LENGTH = 10
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # without those that look like another


def renew(user: User) -> list[str]:
    """Make new codes. The old ones stop working. Call this with the person locked; the codes cannot be shown again."""
    RecoveryCode.objects.filter(user=user).delete()
    codes = ["".join(secrets.choice(LETTERS) for _ in range(LENGTH)) for _ in range(COUNT)]
    RecoveryCode.objects.bulk_create(RecoveryCode(user=user, digest=_digest(user, code)) for code in codes)
    return [f"{code[: LENGTH // 2]}-{code[LENGTH // 2 :]}" for code in codes]


def use(user: User, code: str, *, now: datetime) -> bool:
    """Use up the code. Only one of two callers at the same time gets True."""
    plain = "".join(one for one in code.lower() if one.isalnum())
    unused = RecoveryCode.objects.filter(user=user, digest=_digest(user, plain), used_at__isnull=True)
    return bool(unused.update(used_at=now))


def left(user: User) -> int:
    return RecoveryCode.objects.filter(user=user, used_at__isnull=True).count()


def _digest(user: User, code: str) -> str:
    return keyed_digest(f"recovery {user.pk} {code}")
