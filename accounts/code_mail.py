"""Mails sign-in codes: at once when the task comes, else by the scan, until the code expires."""

from __future__ import annotations

import logging
import smtplib
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.core import mail
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts import emails
from accounts.models import SignInCode
from accounts.signin import CODE_LIFETIME
from config.crypto import readable

log = logging.getLogger(__name__)

# After each attempt the mail is due again, unless it went out: long enough for a slow mail server to be done with it.
RETRY_SECONDS = (30, 30, 60, 60, 120, 120, 120)
MAX_ATTEMPTS = len(RETRY_SECONDS)
MAILS_PER_SCAN = 100


def send(code_id: str, *, now: datetime) -> None:
    """Mail this code if it is due. Twice is harmless."""
    _send_next(SignInCode.objects.filter(pk=code_id), mail.get_connection(), now=now)


def send_due(*, now: datetime) -> int:
    """Mail what is due, and erase what no longer can be. Stops at a mail server that is down; returns how many."""
    _erase_hopeless(now=now)
    connection = mail.get_connection()
    for sent in range(MAILS_PER_SCAN):
        if not _send_next(SignInCode.objects.all(), connection, now=now):
            return sent
    return MAILS_PER_SCAN


def _send_next(codes: QuerySet[SignInCode], connection: BaseEmailBackend, *, now: datetime) -> bool:
    """Whether there was one to send and the mail server took or refused it, so that going on makes sense."""
    claimed = _claim(codes, now=now)
    if claimed is None:
        return False
    row = SignInCode.objects.only("sealed").filter(pk=claimed.pk, digest=claimed.digest).first()
    sealed = readable(row).sealed if row is not None else None
    if sealed is None:
        log.error("a sign-in code cannot be read any more", extra={"code": claimed.pk})
        return _done(claimed, mailed_at=None)
    return _deliver(claimed, sealed, connection)


def _claim(codes: QuerySet[SignInCode], *, now: datetime) -> SignInCode | None:
    """The next due code, made due again for the case that this attempt fails or dies."""
    due = Q(mail_due_at__lte=now, expires_at__gt=now, mail_attempts__lt=MAX_ATTEMPTS)
    with transaction.atomic():
        rows = codes.filter(due).defer("sealed").select_for_update(skip_locked=True)
        code = rows.order_by("mail_due_at").first()
        if code is not None:
            code.mail_due_at = now + timedelta(seconds=RETRY_SECONDS[code.mail_attempts])
            code.mail_attempts += 1
            code.save(update_fields=["mail_due_at", "mail_attempts"])
    return code


def _deliver(claimed: SignInCode, digits: str, connection: BaseEmailBackend) -> bool:
    minutes = int(CODE_LIFETIME.total_seconds() // 60)
    message = emails.sign_in_code(claimed.email, code=digits, lang=claimed.lang, minutes=minutes)
    message.connection = connection
    try:
        message.send()
    except smtplib.SMTPRecipientsRefused as error:
        refused_for_good = all(status >= 500 for status, _ in error.recipients.values())
        log.warning("the mail server refused an address", extra={"code": claimed.pk, "for_good": refused_for_good})
        return _done(claimed, mailed_at=None) if refused_for_good else True
    except OSError as error:  # an SMTPException is one too
        log.warning("the mail server failed, the scan will try again", extra={"code": claimed.pk, "error": str(error)})
        return False
    return _done(claimed, mailed_at=timezone.now())


def _done(claimed: SignInCode, *, mailed_at: datetime | None) -> bool:
    """Erase the digits and end the wait, unless a newer code has taken the row."""
    same = SignInCode.objects.filter(pk=claimed.pk, digest=claimed.digest)
    same.update(sealed=None, mail_due_at=None, mailed_at=mailed_at)
    return True


def _erase_hopeless(*, now: datetime) -> None:
    """Codes that expired before they could be mailed, or whose every attempt failed."""
    tried = Q(mail_attempts__gte=MAX_ATTEMPTS, mail_due_at__lte=now)
    hopeless = SignInCode.objects.filter(Q(expires_at__lte=now) | tried, mail_due_at__isnull=False)
    given_up: Sequence[str] = list(hopeless.values_list("pk", flat=True))
    if given_up:
        log.error("sign-in codes were not mailed", extra={"codes": given_up})
        hopeless.update(sealed=None, mail_due_at=None)
