"""Whether what a person gave as second factor is right. Wrong codes are limited for each person, in the database.

All checks of one person run one after another: the person's row is locked. So a code is used once, and tries that come
at the same time are all counted.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from accounts import letters
from accounts.console_models import ConsoleSession, Factor, FactorKind, Proof, WrongFactor
from accounts.factors import app, passkey, recovery
from accounts.factors.passkey import NotSigned, PasskeyChallenge
from accounts.models import User
from config.errors import BadRequest, RateLimited

WINDOW, TRIES = timedelta(minutes=15), 5
DAY, TRIES_A_DAY = timedelta(days=1), 20
LONGEST_CODE = 40  # characters
TO_SIGN, TO_MAKE, SECRET = "to sign", "to make", "secret"  # names in ConsoleSession.pending

TOO_MANY = """\
Somebody who knows your password for the console of Agentpods has just typed {tries} wrong codes.

Was it you? Then wait {minutes} minutes, or use a passkey.
Was it not you? Then change your password at once, and tell an owner of this platform.
"""


class NotTheFactor(BadRequest):
    message = "This code is wrong or was used already. Wait for the next one in your app."


class PasskeyRefused(BadRequest):
    message = "Your browser's answer was refused. Try the passkey again."


class TooManyWrongFactors(RateLimited):
    def __init__(self, *, retry_after: int) -> None:
        minutes = -(-retry_after // 60)
        super().__init__(
            f"Too many wrong codes. Use a passkey, or try again in {minutes} minutes.", retry_after=retry_after
        )


def lock(user: User) -> User:
    """Nobody else checks or changes this person's factors until the end of the transaction."""
    return User.objects.select_for_update(no_key=True).get(pk=user.pk)


def code(user: User, typed: str, *, now: datetime) -> Proof:
    """Use up the code of an app, or a recovery code. Raises NotTheFactor and TooManyWrongFactors."""
    with transaction.atomic():
        lock(user)
        _refuse_if_used_up(user, now=now)
        proof = _proof(user, "".join(typed[:LONGEST_CODE].split()), now=now)
        if proof is None:
            _count(user, now=now)
    if proof is None:
        raise NotTheFactor
    return proof


def password(user: User, typed: str, *, now: datetime) -> None:
    """Check the password of a person without factors. Raises as `code`."""
    with transaction.atomic():
        lock(user)
        _refuse_if_used_up(user, now=now)
        is_right = user.check_password(typed)
        if not is_right:
            _count(user, now=now)
    if not is_right:
        raise NotTheFactor("This is not your password.")


def ask_for_passkey(session: ConsoleSession) -> PasskeyChallenge | None:
    """A challenge for this session, if the person has a passkey and browsers allow one here."""
    known = list(_factors(session.user, FactorKind.PASSKEY).values_list("credential", flat=True))
    if not known or passkey.unavailable():
        return None
    asked = passkey.ask_to_sign(one for one in known if one)
    keep(session, TO_SIGN, asked.challenge)
    return asked


@transaction.atomic
def signature(session: ConsoleSession, answer: str, *, now: datetime) -> Proof:
    """Check a passkey's signature of this session's challenge. A challenge works once. Raises PasskeyRefused."""
    lock(session.user)
    challenge = taken(session, TO_SIGN)
    try:
        factor = _passkey(session.user, passkey.credential_of(answer))
        counter = passkey.signed(answer, challenge=challenge, public_key=factor.secret, counter=factor.counter)
    except NotSigned as error:
        raise PasskeyRefused from error
    Factor.objects.filter(pk=factor.pk).update(counter=counter, used_at=now)
    return Proof.PASSKEY


@transaction.atomic
def keep(session: ConsoleSession, name: str, value: str) -> None:
    """Remember for this session what one of its pages waits for."""
    row = ConsoleSession.objects.select_for_update().get(pk=session.pk)
    row.pending = {**row.pending, name: value}
    row.save(update_fields=["pending"])


def kept(session: ConsoleSession, name: str) -> str:
    row = ConsoleSession.objects.filter(pk=session.pk).first()
    return str(row.pending.get(name, "")) if row else ""


@transaction.atomic
def taken(session: ConsoleSession, name: str) -> str:
    """The same, and forget it: two requests at once do not both get it."""
    row = ConsoleSession.objects.select_for_update().filter(pk=session.pk).first()
    if row is None:
        return ""
    value = str(row.pending.pop(name, ""))
    row.save(update_fields=["pending"])
    return value


def _factors(user: User, kind: FactorKind) -> QuerySet[Factor]:
    return Factor.objects.filter(user=user, kind=kind)


def _passkey(user: User, credential: str) -> Factor:
    factor = _factors(user, FactorKind.PASSKEY).filter(credential=credential).first()
    if factor is None:
        raise NotSigned
    return factor


def _proof(user: User, typed: str, *, now: datetime) -> Proof | None:
    if len(typed) == app.DIGITS and typed.isascii() and typed.isdigit():
        return Proof.APP if _app_fits(user, typed, now=now) else None
    return Proof.RECOVERY if recovery.use(user, typed, now=now) else None


def _app_fits(user: User, typed: str, *, now: datetime) -> bool:
    for factor in _factors(user, FactorKind.APP):
        step = app.step_of(factor.secret, typed, after=factor.counter, now=now)
        if step is not None:
            Factor.objects.filter(pk=factor.pk).update(counter=step, used_at=now)
            return True
    return False


def _refuse_if_used_up(user: User, *, now: datetime) -> None:
    for window, most in ((WINDOW, TRIES), (DAY, TRIES_A_DAY)):
        tries = list(_wrong(user, since=now - window).values_list("at", flat=True)[:most])
        if len(tries) >= most:
            raise TooManyWrongFactors(retry_after=max(1, int((tries[-1] + window - now).total_seconds())))


def _count(user: User, *, now: datetime) -> None:
    """Count a wrong try, and mail the person when the limit is reached."""
    WrongFactor.objects.create(user=user, at=now)
    if _wrong(user, since=now - WINDOW).count() == TRIES:
        text = TOO_MANY.format(tries=TRIES, minutes=WINDOW // timedelta(minutes=1))
        letters.write(user, subject="Wrong codes at the console", text=text, lang="en")


def _wrong(user: User, *, since: datetime) -> QuerySet[WrongFactor]:
    return WrongFactor.objects.filter(user=user, at__gt=since).order_by("-at")
