"""Mails sign-in codes: at once by a task, or by the periodic scan until the code expires."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from django.core import mail
from django.core.mail.backends.base import BaseEmailBackend
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts import emails, mailing
from accounts.mailing import MailOutcome
from accounts.models import SignInCode
from accounts.signin import CODE_LIFETIME
from config.crypto import readable

log = logging.getLogger(__name__)

# Seconds from each attempt to the next one. Long enough for a slow mail server to finish the mail.
RETRY_SECONDS = (30, 30, 60, 60, 120, 120, 120)
MAX_ATTEMPTS = len(RETRY_SECONDS)


def send(code_id: str, *, now: datetime) -> None:
    """Mail this code if it is due. Calling it twice is harmless."""
    _send_next(SignInCode.objects.filter(pk=code_id), mail.get_connection(), now=now)


def send_due(*, now: datetime) -> int:
    """Mail all due codes and give up those that cannot be mailed any more. Return how many the mail server took or
    refused.

    Stops when the mail server is down.
    """
    _erase_hopeless(now=now)
    return mailing.scan(partial(_send_next, SignInCode.objects.all(), now=now))


def _send_next(codes: QuerySet[SignInCode], connection: BaseEmailBackend, *, now: datetime) -> bool:
    """Mail the next due code. Return whether to go on: false if nothing is due or the mail server is down."""
    live = codes.filter(expires_at__gt=now).defer("sealed")
    claimed = mailing.claim(live, retry_seconds=RETRY_SECONDS, now=now)
    if claimed is None:
        return False
    row = SignInCode.objects.only("sealed").filter(pk=claimed.pk, digest=claimed.digest).first()
    sealed = readable(row).sealed if row is not None else None
    if sealed is None:
        log.error("a sign-in code cannot be read any more", extra={"code": claimed.pk})
        return _done(claimed, mailed_at=None)
    return _deliver(claimed, sealed, connection)


def _deliver(claimed: SignInCode, digits: str, connection: BaseEmailBackend) -> bool:
    minutes = int(CODE_LIFETIME.total_seconds() // 60)
    message = emails.sign_in_code(claimed.email, code=digits, lang=claimed.lang, minutes=minutes)
    outcome = mailing.hand_over(message, connection, row=claimed)
    if outcome in {MailOutcome.TAKEN, MailOutcome.REFUSED}:
        return _done(claimed, mailed_at=timezone.now() if outcome is MailOutcome.TAKEN else None)
    return outcome is MailOutcome.LATER


def _done(claimed: SignInCode, *, mailed_at: datetime | None) -> bool:
    """Erase the digits and stop the attempts, unless a newer code has replaced this one."""
    same = SignInCode.objects.filter(pk=claimed.pk, digest=claimed.digest)
    same.update(sealed=None, mail_due_at=None, mailed_at=mailed_at)
    return True


def _erase_hopeless(*, now: datetime) -> None:
    """Give up codes that expired before they were mailed, or whose attempts have all failed. Erase their digits."""
    tried = Q(mail_attempts__gte=MAX_ATTEMPTS, mail_due_at__lte=now)
    hopeless = SignInCode.objects.filter(Q(expires_at__lte=now) | tried, mail_due_at__isnull=False)
    given_up: Sequence[str] = list(hopeless.values_list("pk", flat=True))
    if given_up:
        log.error("sign-in codes were not mailed", extra={"codes": given_up})
        hopeless.update(sealed=None, mail_due_at=None)
