"""Signing in with a six-digit code that is mailed to the address.

One path for every address: no step before a right code looks at who has an account, so neither answers nor times tell.
"""

from __future__ import annotations

import math
import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db import connection, transaction
from django.db.models import Q

from accounts import mailbox, sessions, switches
from accounts.errors import AccountSuspended, NoLiveCode, SignUpsClosed, TooManyWrongTries, WrongCode
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
    """Issue a new code for the address, due to be mailed; the one before stops working.

    Limits count by mailbox, over all addresses that land in it. Once it has had its mails of the hour nothing more is
    mailed, and the last code stays: a stranger who asks for codes cannot spoil the owner's. Returns the code only where
    SHOW_DEV_CODES lets callers see it.
    """
    may_mail = len(_lately(email, "mails_at", now=now)) < MAILS_PER_WINDOW
    if not may_mail and not settings.SHOW_DEV_CODES:
        return None
    waiting = _locked(email, lang=lang, now=now)
    code = f"{secrets.randbelow(10**6):06d}"
    waiting.digest = _digest(email, code)
    waiting.sealed = code if may_mail else None
    waiting.inbox, waiting.lang = mailbox.inbox(email), lang
    waiting.created_at, waiting.expires_at, waiting.used_at = now, now + CODE_LIFETIME, None
    waiting.mail_due_at, waiting.mail_attempts, waiting.mailed_at = now if may_mail else None, 0, None
    mails = [at for at in waiting.mails_at if at > now - WINDOW]
    waiting.mails_at = [*mails, now] if may_mail else mails
    waiting.save()
    wake.on_commit("accounts.send_code", waiting.id)
    return code if settings.SHOW_DEV_CODES else None


def verify_code(email: str, *, code: str, attribution: Attribution | None, now: datetime) -> tuple[str, User]:
    """Use up the address's code; a new session's token and its user, who is made at the first sign-in.

    Raises WrongCode, NoLiveCode, TooManyWrongTries, AccountSuspended or SignUpsClosed.
    """
    with transaction.atomic():  # raising inside would forget the wrong try
        refusal = _refusal(email, code=code, now=now)
        if refusal is None:
            lang = SignInCode.objects.values_list("lang", flat=True).get(email=email)
            user = _user(email, lang=lang, attribution=attribution, now=now)
            if user is not None and user.is_active:
                return sessions.start(user, attribution=attribution, now=now)[1], user
            refusal = SignUpsClosed() if user is None else AccountSuspended()
    raise refusal


def _lately(email: str, column: str, *, now: datetime) -> list[datetime]:
    """When, in the last hour, something happened to any address of this mailbox; nothing more does until we commit."""
    inbox = mailbox.inbox(email)
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"sign-in {inbox}"])
    rows = SignInCode.objects.filter(Q(inbox=inbox) | Q(email=email)).values_list(column, flat=True)
    return [at for times in rows for at in times if at > now - WINDOW]


def _locked(email: str, *, lang: str, now: datetime) -> SignInCode:
    """The address's row, locked and made if missing. The digits are left where they are: only the mail needs them."""
    unsent = {"lang": lang, "created_at": now, "expires_at": now}
    return SignInCode.objects.select_for_update().defer("sealed").get_or_create(email=email, defaults=unsent)[0]


def _refusal(email: str, *, code: str, now: datetime) -> ServiceError | None:
    """Why this code does not sign in, with a wrong try counted; None when it does, and then it is used up."""
    wrong = _lately(email, "wrong_tries_at", now=now)
    rows = SignInCode.objects.select_for_update().defer("sealed")
    waiting = rows.filter(email=email, used_at__isnull=True, expires_at__gt=now).first()
    if waiting is None:
        return NoLiveCode()
    if len(wrong) >= WRONG_TRIES_PER_WINDOW:
        return TooManyWrongTries(retry_after=math.ceil((min(wrong) + WINDOW - now).total_seconds()))
    if not same(waiting.digest, _digest(email, code)):
        waiting.wrong_tries_at = [*(at for at in waiting.wrong_tries_at if at > now - WINDOW), now]
        waiting.save(update_fields=["wrong_tries_at"])
        return WrongCode()
    waiting.used_at = now
    waiting.save(update_fields=["used_at"])
    return None


def _user(email: str, *, lang: str, attribution: Attribution | None, now: datetime) -> User | None:
    """The address's account, made at the first sign-in; None while new ones are not taken."""
    user = User.objects.filter(email=email).first()
    if user is None:
        return _sign_up(email, lang=lang, attribution=attribution, now=now) if switches.sign_ups_open() else None
    first = attribution if user.attribution is None else user.attribution
    if (user.lang, user.attribution) != (lang, first):
        user.lang, user.attribution = lang, first
        user.save(update_fields=["lang", "attribution"])
    return user


def _sign_up(email: str, *, lang: str, attribution: Attribution | None, now: datetime) -> User:
    first = {"lang": lang, "attribution": attribution, "created_at": now, "password": make_password(None)}
    return User.objects.get_or_create(email=email, defaults=first)[0]


def _digest(email: str, code: str) -> str:
    """The digest that stands for the code; six digits alone would be found by trying all of them."""
    return keyed_digest(f"sign-in {email} {code}")
