"""Adds, removes and resets second factors. Every change ends the person's other sessions and is mailed to them."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts import console_sessions, letters
from accounts.console_models import (
    ConsoleSession,
    Factor,
    FactorKind,
    Proof,
    ProviderIdentity,
    RecoveryCode,
    WrongFactor,
)
from accounts.factors import app, checking, passkey, recovery
from accounts.models import User
from config import audit
from config.errors import BadRequest, Conflict, NotFound

MOST = 10  # of one person
ADDED, REMOVED, RESET, RENEWED = (
    "Second factor added",
    "Second factor removed",
    "Second factors reset",
    "Recovery codes made",
)

CHANGED = """\
{what} for the console of Agentpods. All your other sessions of the console have ended.

Was it not you? Then tell an owner of this platform at once.
"""


class TooManyFactors(Conflict):
    message = f"You have {MOST} second factors, which is the most. Remove one first."


class PageUsed(Conflict):
    message = "This page was used or is too old. Open it again."


class CodeDoesNotFit(BadRequest):
    message = (
        "This is not the code that the app shows for this secret. Check the clock of your phone, and try the next code."
    )


class NoSuchFactor(NotFound):
    message = "You have no such second factor."


class LastFactor(Conflict):
    message = "This is your last second factor, and your role needs one. Add another one first."


def new_app(session: ConsoleSession) -> str:
    """The secret of an app that this session is about to add. Opening the page again keeps it."""
    secret = checking.kept(session, checking.SECRET)
    if not secret:
        secret = app.new_secret()
        checking.keep(session, checking.SECRET, secret)
    return secret


@transaction.atomic
def add_app(session: ConsoleSession, *, name: str, code: str, now: datetime) -> list[str]:
    """Add the app if its first code is right. Returns new recovery codes, if the person had none."""
    user = checking.lock(session.user)
    secret = checking.kept(session, checking.SECRET)
    if not secret:
        raise PageUsed
    step = app.step_of(secret, "".join(code.split()), after=0, now=now)
    if step is None:
        raise CodeDoesNotFit
    checking.taken(session, checking.SECRET)
    return _add(session, user, Factor(kind=FactorKind.APP, name=name, secret=secret, counter=step), now=now)


def new_passkey(session: ConsoleSession) -> passkey.PasskeyChallenge:
    known = Factor.objects.filter(user=session.user, kind=FactorKind.PASSKEY).values_list("credential", flat=True)
    asked = passkey.ask_to_make(session.user, known=[one for one in known if one])
    checking.keep(session, checking.TO_MAKE, asked.challenge)
    return asked


@transaction.atomic
def add_passkey(session: ConsoleSession, *, name: str, answer: str, now: datetime) -> list[str]:
    """Add the passkey that the browser made. Returns as `add_app`."""
    user = checking.lock(session.user)
    challenge = checking.taken(session, checking.TO_MAKE)
    if not challenge:
        raise PageUsed
    try:
        made = passkey.made(answer, challenge=challenge)
    except passkey.NotSigned as error:
        raise checking.PasskeyRefused from error
    if Factor.objects.filter(credential=made.credential).exists():
        raise checking.PasskeyRefused
    factor = Factor(
        kind=FactorKind.PASSKEY,
        name=name,
        secret=made.public_key,
        credential=made.credential,
        counter=made.counter,
    )
    return _add(session, user, factor, now=now)


@transaction.atomic
def new_codes(session: ConsoleSession) -> list[str]:
    """Make new recovery codes. The old ones stop working."""
    user = checking.lock(session.user)
    if not user.factors.exists():
        raise NoSuchFactor
    audit.note(RENEWED, user)
    return recovery.renew(user)


@transaction.atomic
def remove(session: ConsoleSession, factor_id: str, *, now: datetime) -> Factor:
    user = checking.lock(session.user)
    factor = user.factors.filter(pk=factor_id).first()
    if factor is None:
        raise NoSuchFactor
    is_last = user.factors.count() == 1
    if is_last and console_sessions.must_have_one(session):
        raise LastFactor
    Factor.objects.filter(pk=factor.pk).delete()
    if is_last:
        RecoveryCode.objects.filter(user=user).delete()
    console_sessions.end_others(session)
    audit.note(REMOVED, user, reason=str(factor))
    _mail(user, f"The {factor} was removed")
    return factor


@transaction.atomic
def reset(user: User) -> None:
    """Remove all factors, recovery codes and sessions, and the link to the OIDC provider: the person begins anew.

    The caller records who did it and why.
    """
    checking.lock(user)
    for rows in (Factor, RecoveryCode, WrongFactor, ProviderIdentity):
        rows.objects.filter(user=user).delete()
    console_sessions.end_all(user)
    _mail(user, "Your second factors were removed by an owner")


def _add(session: ConsoleSession, user: User, factor: Factor, *, now: datetime) -> list[str]:
    if user.factors.count() >= MOST:
        raise TooManyFactors
    factor.user, factor.created_at, factor.used_at = user, now, now
    factor.save(force_insert=True)
    if not session.proof:
        console_sessions.confirm(session, Proof(factor.kind), now=now)
    console_sessions.end_others(session)
    audit.note(ADDED, user, reason=str(factor))
    _mail(user, f"The {factor} was added")
    return [] if recovery.left(user) else recovery.renew(user)


def _mail(user: User, what: str) -> None:
    letters.write(user, subject="Your sign-in to the console has changed", text=CHANGED.format(what=what), lang="en")
