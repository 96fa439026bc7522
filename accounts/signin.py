"""Signing in with a six-digit code that is mailed to the address.

One path for every address: no step before a right code looks at who has an account, so neither answers nor times tell.

Strangers cannot keep people out. A code belongs to the household that asked for it (an IPv4 address or an IPv6 /64),
and nobody else can end it or use up its tries. A household that signed in lately is familiar, and has mails and tries
of its own. All others share mails, and tries at codes that they did not ask for. Once the mails are used up, another
goes out whenever the last is a few minutes old, so whoever asks finds a code that lives. Once the tries are used up,
whoever has not mistyped yet still has one. SECURITY.md has the odds.
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

from accounts import client_address, mailbox, sessions, switches
from accounts.errors import (
    AccountSuspended,
    NoLiveCode,
    SignUpsClosed,
    TooManyStrangers,
    TooManyWrongTries,
    WrongCode,
)
from accounts.models import Attribution, SignInCode, User, WrongTry
from config import wake
from config.crypto import keyed_digest, same
from config.errors import ServiceError

CODE_LIFETIME = timedelta(minutes=10)
WINDOW = timedelta(hours=1)
DAY = timedelta(days=1)
FAMILIAR = timedelta(days=90)
TRIES_PER_CODE = 5  # of the household that asked for it
STRANGE_TRIES = 50  # in any hour, of all unfamiliar households together at codes of others
SLIPS = 1  # which a household is forgiven in a day
FIRST_TRIES_OF_A_NETWORK = 64  # by households that are forgiven, in a day
FIRST_TRIES = 2_000  # comparisons that all these tries are, in a day
MAILS_PER_WINDOW = 10  # to a familiar household
MAILS_TO_STRANGERS = 3  # to all the others together
MAILS_TO_A_STRANGER = 5  # of those and of later ones, to one unfamiliar household, over all addresses of the mailbox
FRESH = timedelta(minutes=5)  # beyond those: who has been mailed a code that is as young as this gets no other


@transaction.atomic
def request_code(email: str, *, household: str, lang: str, now: datetime) -> str | None:
    """Issue a new code for the address, due to be mailed; the household's code before it stops working.

    Where no mail may be sent the household's last code stays; so does one that was asked for a moment ago and whose
    mail nobody has tried to send yet. Returns the code only where SHOW_DEV_CODES lets callers see it.
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
    wake.on_commit("accounts.send_code", waiting.id)
    return code if settings.SHOW_DEV_CODES else None


def verify_code(
    email: str, *, code: str, household: str, attribution: Attribution | None, client: str = "", now: datetime
) -> tuple[str, User]:
    """Use up the code; a new session's token and its user, who is made at the first sign-in.

    Raises WrongCode, NoLiveCode, TooManyWrongTries, TooManyStrangers, AccountSuspended or SignUpsClosed.
    """
    with transaction.atomic():  # raising inside would forget the wrong try
        found = _use(email, code=code, household=household, now=now)
        if isinstance(found, SignInCode):
            user = _user(email, lang=found.lang, attribution=attribution, now=now)
            if user is not None and user.is_active:
                return sessions.start(user, attribution=attribution, client=client, now=now)[1], user
            found = SignUpsClosed() if user is None else AccountSuspended()
    raise found


def confirm(user: User, *, code: str, household: str, now: datetime) -> None:
    """Use up a code that was mailed to this user, who is signed in: it is they who want what cannot be undone.

    Raises WrongCode, NoLiveCode, TooManyWrongTries, TooManyStrangers.
    """
    with transaction.atomic():  # raising inside would forget the wrong try
        found = _use(user.email, code=code, household=household, now=now)
    if isinstance(found, ServiceError):
        raise found


def _hold(email: str) -> None:
    """Nobody else asks for codes of this mailbox, or tries any, until we commit."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"sign-in {mailbox.inbox(email)}"])


def _may_mail(email: str, household: str, *, now: datetime) -> bool:
    """Whether this household may have one more mail sent to the address."""
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
    """Whether its code was mailed a moment ago, or soon will be: whoever asks now may use it."""
    return row.used_at is None and any(at > now - FRESH for at in row.mails_at)


def _lives(row: SignInCode, *, now: datetime) -> bool:
    """Whether its code may be what somebody else, who was mailed none, is about to type: it is not replaced."""
    return row.used_at is None and row.expires_at > now


def _waits(email: str, household: str, *, now: datetime) -> bool:
    """Whether a mail to this household is about to be sent: it answers this request too.

    A new code would bring new tries, and no new mail.
    """
    own = SignInCode.objects.filter(email=email, household=household, used_at=None, created_at__gt=now - FRESH)
    return own.filter(mail_due_at__isnull=False, mail_attempts=0).exists()


def _row(email: str, household: str, *, lang: str, now: datetime) -> SignInCode:
    """The household's row, locked and made if missing. The digits are left where they are: only the mail needs them."""
    none = {"created_at": now, "expires_at": now, "used_at": now, "forget_at": now}
    rows = SignInCode.objects.select_for_update().defer("sealed")
    defaults = {"inbox": mailbox.inbox(email), "lang": lang, **none}
    return rows.get_or_create(email=email, household=household, defaults=defaults)[0]


def _is_familiar(row: SignInCode, *, now: datetime) -> bool:
    return row.signed_in_at is not None and row.signed_in_at > now - FAMILIAR


def _use(email: str, *, code: str, household: str, now: datetime) -> SignInCode | ServiceError:
    """The code that these digits are, used up; or why there is none, with a wrong try counted."""
    _hold(email)
    household, network = _hidden(household), _hidden(client_address.network(household))
    rows = SignInCode.objects.filter(email=email).select_for_update().defer("sealed").order_by("-created_at", "-id")
    live = list(rows.filter(used_at__isnull=True, expires_at__gt=now))
    if not live:
        return NoLiveCode()
    now = max(now, *(row.created_at for row in live))  # we waited for our turn: no try is older than its code
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
    """With how many codes of others a household that is not familiar may be compared now."""
    left = STRANGE_TRIES - sum(today.filter(at__gt=now - WINDOW).values_list("strange", flat=True))
    return max(left, _first_tries_left(today, household, network), 0)


def _first_tries_left(today: QuerySet[WrongTry], household: str, network: str) -> int:
    """The same, where the household is forgiven what it mistyped."""
    tries, of_network, spent = Counter[str](), Counter[str](), 0
    for by, within, strange in today.order_by("at", "id").values_list("household", "network", "strange"):
        if tries[by] <= SLIPS and of_network[within] < FIRST_TRIES_OF_A_NETWORK:
            of_network[within] += 1
            spent += strange
        tries[by] += 1
    is_forgiven = tries[household] <= SLIPS and of_network[network] < FIRST_TRIES_OF_A_NETWORK
    return FIRST_TRIES - spent if is_forgiven else 0


def _tries_used_up(tries: QuerySet[WrongTry], own: SignInCode | None, *, now: datetime) -> ServiceError | None:
    """The refusal of a household that has tried often enough since it asked for its code, or in an hour without one."""
    counted = tries if own is None else tries.filter(at__gte=own.created_at)
    if counted.count() < TRIES_PER_CODE:
        return None
    return TooManyWrongTries(retry_after=_seconds_to(counted, now=now))


def _seconds_to(tries: QuerySet[WrongTry], *, now: datetime) -> int:
    """How long until the oldest of these tries no longer counts."""
    oldest = min(tries.values_list("at", flat=True), default=now)
    return math.ceil((oldest + WINDOW - now).total_seconds())


def _used(row: SignInCode, household: str, *, now: datetime) -> SignInCode:
    """End the code, and note that this household is familiar from now on; another one may have asked for the code."""
    row.used_at = now
    row.save(update_fields=["used_at"])
    here = row if row.household == household else _row(row.email, household, lang=row.lang, now=now)
    here.signed_in_at, here.forget_at = now, max(here.forget_at, now + FAMILIAR)
    here.save(update_fields=["signed_in_at", "forget_at"])
    return row


def _user(email: str, *, lang: str, attribution: Attribution | None, now: datetime) -> User | None:
    """The address's account, made at the first sign-in; None while new ones are not taken."""
    user = User.objects.filter(email=email).first()
    if user is None:
        return _sign_up(email, lang=lang, attribution=attribution, now=now) if switches.sign_ups_open() else None
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
    """What stands for an address at rest: where people sign in from is nobody's business."""
    return keyed_digest(f"household {household}")


def _digest(email: str, code: str) -> str:
    """The digest that stands for the code; six digits alone would be found by trying all of them."""
    return keyed_digest(f"sign-in {email} {code}")
