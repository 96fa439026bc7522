"""Signing in with a six-digit code that is mailed to the address.

All addresses take the same path: no step before the right code checks who has an account. So neither the answer nor its
time shows it.

Strangers cannot lock people out. A code belongs to the household that asked for it (an IPv4 address or an IPv6 /64);
nobody else can end the code or use up its tries. A household that signed in recently is familiar, and has its own mails
and tries. All other households share a number of mails, and a number of tries at codes for which they did not ask. When
these mails are used up, another mail is sent whenever the last one is a few minutes old, so everybody who asks finds a
valid code. When these tries are used up, a household that has not mistyped yet still has one. SECURITY.md has the
probabilities.
"""

from __future__ import annotations

import math
import secrets
from collections import Counter
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db import connection, transaction
from django.db.models import QuerySet

from accounts import client_address, mailbox, sessions
from accounts.errors import (
    AccountSuspended,
    NoLiveCode,
    SignUpsClosed,
    TooManyStrangers,
    TooManyWrongTries,
    WrongCode,
)
from accounts.models import Attribution, SignInCode, User, WrongTry
from config import background
from config.crypto import keyed_digest, same
from config.errors import ServiceError
from config.operator_settings import operator_settings

CODE_LIFETIME = timedelta(minutes=10)
WINDOW = timedelta(hours=1)
DAY = timedelta(days=1)
FAMILIAR = timedelta(days=90)
TRIES_PER_CODE = 5  # for the household that asked for the code
STRANGE_TRIES = 50  # in any hour, of all unfamiliar households together, at codes of others
SLIPS = 1  # wrong tries per day that a household is forgiven
FIRST_TRIES_OF_A_NETWORK = 64  # tries per day and network, by forgiven households
FIRST_TRIES = 2_000  # comparisons per day, in all forgiven tries together
MAILS_PER_WINDOW = 10  # to a familiar household
MAILS_TO_STRANGERS = 3  # to all other households together
MAILS_TO_A_STRANGER = 5  # per unfamiliar household and inbox; includes the mails above and later ones
FRESH = timedelta(minutes=5)  # when those are used up: no new mail while the last one is younger than this


@transaction.atomic
def request_code(email: str, *, household: str, lang: str, now: datetime) -> str | None:
    """Issue a new code for the address and have it mailed. It replaces the household's last code.

    If no mail may be sent, the household's last code stays valid. It also stays if it is a moment old and its mail was
    not tried yet. Returns the code only if SHOW_DEV_CODES is on, else None.
    """
    household = _hidden(household)
    _hold(email)
    may_mail = _may_mail(email, household, now=now)
    if not settings.SHOW_DEV_CODES and (not may_mail or _waits(email, household, now=now)):
        return None
    waiting = _row(email, household, lang=lang, now=now)
    code = f"{secrets.randbelow(10**6):06d}"
    waiting.digest = _digest(email, code)
    waiting.sealed = code if may_mail else None
    waiting.lang = lang
    mails = [at for at in waiting.mails_at if at > now - WINDOW]
    waiting.mails_at = [*mails, now] if may_mail else mails
    waiting.created_at, waiting.expires_at, waiting.used_at = now, now + CODE_LIFETIME, None
    waiting.mail_due_at, waiting.mail_attempts, waiting.mailed_at = now if may_mail else None, 0, None
    waiting.forget_at = max(waiting.forget_at, waiting.expires_at + WINDOW)
    waiting.save()
    background.on_commit("accounts.send_code", waiting.id)
    return code if settings.SHOW_DEV_CODES else None


def verify_code(
    email: str, *, code: str, household: str, attribution: Attribution | None, client: str = "", now: datetime
) -> tuple[str, User]:
    """Use up the code. Return a new session's token and its user, who is created at the first sign-in.

    Raises WrongCode, NoLiveCode, TooManyWrongTries, TooManyStrangers, AccountSuspended or SignUpsClosed.
    """
    with transaction.atomic():  # an exception inside would roll back the wrong try
        found = _use(email, code=code, household=household, now=now)
        if isinstance(found, SignInCode):
            user = _user(email, lang=found.lang, attribution=attribution, now=now)
            if user is not None and user.is_active:
                return sessions.start(user, attribution=attribution, client=client, now=now)[1], user
            found = SignUpsClosed() if user is None else AccountSuspended()
    raise found


def confirm(user: User, *, code: str, household: str, now: datetime) -> None:
    """Use up a code that was mailed to this signed-in user. It proves that the user wants a step that cannot be undone.

    Raises WrongCode, NoLiveCode, TooManyWrongTries, TooManyStrangers.
    """
    with transaction.atomic():  # an exception inside would roll back the wrong try
        found = _use(user.email, code=code, household=household, now=now)
    if isinstance(found, ServiceError):
        raise found


def _hold(email: str) -> None:
    """Lock the mailbox until the transaction ends: nobody else can ask for its codes or try them."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"sign-in {mailbox.inbox(email)}"])


def _may_mail(email: str, household: str, *, now: datetime) -> bool:
    """Whether one more mail may be sent to the address for this household."""
    asked_here = SignInCode.objects.filter(inbox=mailbox.inbox(email), household=household)
    own = sum(at > now - WINDOW for mails in asked_here.values_list("mails_at", flat=True) for at in mails)
    rows = list(SignInCode.objects.filter(email=email).defer("sealed"))
    if any(row.household == household and _is_familiar(row, now=now) for row in rows):
        return own < MAILS_PER_WINDOW
    mails = (at for row in rows if not _is_familiar(row, now=now) for at in row.mails_at)
    strangers = sum(at > now - WINDOW for at in mails)
    if own >= MAILS_TO_A_STRANGER or strangers < MAILS_TO_STRANGERS:
        return own < MAILS_TO_A_STRANGER
    return not any(_is_fresh(row, now=now) or (row.household == household and _lives(row, now=now)) for row in rows)


def _is_fresh(row: SignInCode, *, now: datetime) -> bool:
    """Whether the row's code was mailed a moment ago or is about to be mailed, and is not used yet."""
    return row.used_at is None and any(at > now - FRESH for at in row.mails_at)


def _lives(row: SignInCode, *, now: datetime) -> bool:
    """Whether the code is still valid. Somebody who got no mail of their own may type it, so it is not replaced."""
    return row.used_at is None and row.expires_at > now


def _waits(email: str, household: str, *, now: datetime) -> bool:
    """Whether a mail to this household is about to be sent. That mail answers this request too.

    A new code would give new tries without a new mail.
    """
    own = SignInCode.objects.filter(email=email, household=household, used_at=None, created_at__gt=now - FRESH)
    return own.filter(mail_due_at__isnull=False, mail_attempts=0).exists()


def _row(email: str, household: str, *, lang: str, now: datetime) -> SignInCode:
    """The household's row, locked, created if missing. The digits are not loaded: only the mail needs them."""
    none = {"created_at": now, "expires_at": now, "used_at": now, "forget_at": now}
    rows = SignInCode.objects.select_for_update().defer("sealed")
    defaults = {"inbox": mailbox.inbox(email), "lang": lang, **none}
    return rows.get_or_create(email=email, household=household, defaults=defaults)[0]


def _is_familiar(row: SignInCode, *, now: datetime) -> bool:
    return row.signed_in_at is not None and row.signed_in_at > now - FAMILIAR


def _use(email: str, *, code: str, household: str, now: datetime) -> SignInCode | ServiceError:
    """Use up the code with these digits and return it. Otherwise return the refusal; a wrong try is counted."""
    _hold(email)
    household, network = _hidden(household), _hidden(client_address.network(household))
    rows = SignInCode.objects.filter(email=email).select_for_update().defer("sealed").order_by("-created_at", "-id")
    live = list(rows.filter(used_at__isnull=True, expires_at__gt=now))
    if not live:
        return NoLiveCode()
    now = max(now, *(row.created_at for row in live))  # we have waited for the lock: no try may be older than its code
    today = WrongTry.objects.filter(email=email, at__gt=now - DAY)
    tries = today.filter(at__gt=now - WINDOW)
    own = next((row for row in live if row.household == household), None)
    here = tries.filter(household=household)
    refusal = _tries_used_up(here, own, now=now)
    if refusal is not None:
        return refusal
    known = rows.filter(household=household, signed_in_at__gt=now - FAMILIAR).exists()
    known = known and here.count() < TRIES_PER_CODE
    theirs = [row for row in live if row is not own]
    strange = [] if known else theirs[: _strange_tries_left(today, household, network, now=now)]
    tried = [*([own] if own else []), *(theirs if known else strange)]
    if not tried:
        return TooManyStrangers(retry_after=_seconds_to(tries.filter(strange__gt=0), now=now))
    right = [row for row in tried if same(row.digest, _digest(email, code))]
    if not right:
        WrongTry.objects.create(email=email, household=household, network=network, strange=len(strange), at=now)
        return WrongCode()
    return _used(right[0], household, now=now)


def _strange_tries_left(today: QuerySet[WrongTry], household: str, network: str, *, now: datetime) -> int:
    """The number of other households' codes with which an unfamiliar household may be compared now."""
    left = STRANGE_TRIES - sum(today.filter(at__gt=now - WINDOW).values_list("strange", flat=True))
    return max(left, _first_tries_left(today, household, network), 0)


def _first_tries_left(today: QuerySet[WrongTry], household: str, network: str) -> int:
    """The same number for a household whose first wrong tries of the day are forgiven; 0 if it has none left."""
    tries, of_network, spent = Counter[str](), Counter[str](), 0
    for by, within, strange in today.order_by("at", "id").values_list("household", "network", "strange"):
        if tries[by] <= SLIPS and of_network[within] < FIRST_TRIES_OF_A_NETWORK:
            of_network[within] += 1
            spent += strange
        tries[by] += 1
    is_forgiven = tries[household] <= SLIPS and of_network[network] < FIRST_TRIES_OF_A_NETWORK
    return FIRST_TRIES - spent if is_forgiven else 0


def _tries_used_up(tries: QuerySet[WrongTry], own: SignInCode | None, *, now: datetime) -> ServiceError | None:
    """The refusal if the household has no tries left: since it asked for its code, or within an hour if it has none."""
    counted = tries if own is None else tries.filter(at__gte=own.created_at)
    if counted.count() < TRIES_PER_CODE:
        return None
    return TooManyWrongTries(retry_after=_seconds_to(counted, now=now))


def _seconds_to(tries: QuerySet[WrongTry], *, now: datetime) -> int:
    """Seconds until the oldest of these tries no longer counts."""
    oldest = min(tries.values_list("at", flat=True), default=now)
    return math.ceil((oldest + WINDOW - now).total_seconds())


def _used(row: SignInCode, household: str, *, now: datetime) -> SignInCode:
    """End the code and mark this household as familiar, even if another household asked for the code."""
    row.used_at = now
    row.save(update_fields=["used_at"])
    here = row if row.household == household else _row(row.email, household, lang=row.lang, now=now)
    here.signed_in_at, here.forget_at = now, max(here.forget_at, now + FAMILIAR)
    here.save(update_fields=["signed_in_at", "forget_at"])
    return row


def _user(email: str, *, lang: str, attribution: Attribution | None, now: datetime) -> User | None:
    """The account of the address, created at the first sign-in. None while sign-ups are closed."""
    user = User.objects.filter(email=email).first()
    if user is None:
        return _sign_up(email, lang=lang, attribution=attribution, now=now) if operator_settings.SIGN_UPS_OPEN else None
    first = attribution if user.attribution is None else user.attribution
    lang = user.lang if user.lang_chosen else lang
    if (user.lang, user.attribution) != (lang, first):
        user.lang, user.attribution = lang, first
        user.save(update_fields=["lang", "attribution"])
    return user


def _sign_up(email: str, *, lang: str, attribution: Attribution | None, now: datetime) -> User:
    first = {"lang": lang, "attribution": attribution, "created_at": now, "password": make_password(None)}
    return User.objects.get_or_create(email=email, defaults=first)[0]


def _hidden(household: str) -> str:
    """The digest under which a household is stored, so that the database does not show where people sign in from."""
    return keyed_digest(f"household {household}")


def _digest(email: str, code: str) -> str:
    """The keyed digest of the code. Without a key, anybody could find six digits by trying all of them."""
    return keyed_digest(f"sign-in {email} {code}")
