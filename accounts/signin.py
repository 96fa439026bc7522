"""Signing in with a six-digit code that is mailed to the address.

One path for every address: no step before a right code looks at who has an account, so neither answers nor times tell.
"""

from __future__ import annotations

import math
import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db import transaction

from accounts import sessions
from accounts.errors import AccountSuspended, NoLiveCode, TooManyWrongTries, WrongCode
from accounts.models import Attribution, SignInCode, User
from config import wake
from config.crypto import keyed_digest, same
from config.errors import ServiceError

CODE_LIFETIME = timedelta(minutes=10)
WINDOW = timedelta(hours=1)
WRONG_TRIES_PER_WINDOW = 20
MAILS_PER_WINDOW = 10


@transaction.atomic
def request_code(email: str, *, lang: str, now: datetime) -> str | None:
    """Issue a new code for the mailbox, due to be mailed; the one before stops working.

    Once a mailbox has had its mails of the hour nothing more is mailed, and its last code stays: a stranger who asks
    for codes cannot spoil the owner's. Returns the code only where SHOW_DEV_CODES lets callers see it.
    """
    waiting = _locked(email, lang=lang, now=now)
    mails = [at for at in waiting.mails_at if at > now - WINDOW]
    may_mail = len(mails) < MAILS_PER_WINDOW
    if not may_mail and not settings.SHOW_DEV_CODES:
        return None
    code = f"{secrets.randbelow(10**6):06d}"
    waiting.digest = _digest(email, code)
    waiting.sealed = code if may_mail else None
    waiting.lang = lang
    waiting.created_at, waiting.expires_at, waiting.used_at = now, now + CODE_LIFETIME, None
    waiting.mail_due_at, waiting.mail_attempts, waiting.mailed_at = now if may_mail else None, 0, None
    waiting.mails_at = [*mails, now] if may_mail else mails
    waiting.save()
    wake.on_commit("accounts.send_code", waiting.id)
    return code if settings.SHOW_DEV_CODES else None


def verify_code(email: str, *, code: str, attribution: Attribution | None, now: datetime) -> tuple[str, User]:
    """Use up the mailbox's code; a new session's token and its user, who is made at the first sign-in.

    Raises WrongCode, NoLiveCode, TooManyWrongTries or AccountSuspended.
    """
    with transaction.atomic():  # raising inside would forget the wrong try
        refusal = _refusal(email, code=code, now=now)
        if refusal is None:
            user = _user(email, attribution=attribution, now=now)
            if user.is_active:
                return sessions.start(user, attribution=attribution, now=now)[1], user
            refusal = AccountSuspended()
    raise refusal


def _locked(email: str, *, lang: str, now: datetime) -> SignInCode:
    """The mailbox's row, locked and made if missing. The digits are left where they are: only the mail needs them."""
    unsent = {"lang": lang, "created_at": now, "expires_at": now}
    return SignInCode.objects.select_for_update().defer("sealed").get_or_create(email=email, defaults=unsent)[0]


def _refusal(email: str, *, code: str, now: datetime) -> ServiceError | None:
    """Why this code does not sign in, with a wrong try counted; None when it does, and then it is used up."""
    rows = SignInCode.objects.select_for_update().defer("sealed")
    waiting = rows.filter(email=email, used_at__isnull=True, expires_at__gt=now).first()
    if waiting is None:
        return NoLiveCode()
    wrong = [at for at in waiting.wrong_tries_at if at > now - WINDOW]
    if len(wrong) >= WRONG_TRIES_PER_WINDOW:
        return TooManyWrongTries(retry_after=math.ceil((min(wrong) + WINDOW - now).total_seconds()))
    if not same(waiting.digest, _digest(email, code)):
        waiting.wrong_tries_at = [*wrong, now]
        waiting.save(update_fields=["wrong_tries_at"])
        return WrongCode()
    waiting.used_at = now
    waiting.save(update_fields=["used_at"])
    return None


def _user(email: str, *, attribution: Attribution | None, now: datetime) -> User:
    first = {"attribution": attribution, "created_at": now, "password": make_password(None)}
    user, created = User.objects.get_or_create(email=email, defaults=first)
    if not created and user.attribution is None and attribution is not None:
        user.attribution = attribution
        user.save(update_fields=["attribution"])
    return user


def _digest(email: str, code: str) -> str:
    """The digest that stands for the code; six digits alone would be found by trying all of them."""
    return keyed_digest(f"sign-in {email} {code}")
