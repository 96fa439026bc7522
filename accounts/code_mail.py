"""Mails sign-in codes: at once by a task, or by the periodic scan until the code expires."""

from __future__ import annotations

import logging
from datetime import datetime

from django.core.mail import EmailMessage
from django.db.models import Q, QuerySet

from accounts import emails
from accounts.mailing import MailQueue
from accounts.models import SignInCode
from accounts.signin import CODE_LIFETIME
from config.crypto import readable

log = logging.getLogger(__name__)

# Seconds from each attempt to the next one. Long enough for a slow mail server to finish the mail.
RETRY_SECONDS = (30, 30, 60, 60, 120, 120, 120)
MAX_ATTEMPTS = len(RETRY_SECONDS)


class _Codes(MailQueue[SignInCode]):
    retry_seconds = RETRY_SECONDS

    def waiting(self, *, now: datetime) -> QuerySet[SignInCode]:
        return SignInCode.objects.filter(expires_at__gt=now).defer("sealed")

    def message(self, row: SignInCode) -> EmailMessage | None:
        found = SignInCode.objects.only("sealed").filter(pk=row.pk, digest=row.digest).first()
        digits = readable(found).sealed if found is not None else None
        if digits is None:
            log.error("a sign-in code cannot be read any more", extra={"code": row.pk})
            return None
        minutes = int(CODE_LIFETIME.total_seconds() // 60)
        return emails.sign_in_code(row.email, code=digits, lang=row.lang, minutes=minutes)

    def done(self, row: SignInCode, *, mailed_at: datetime | None) -> None:
        """Erase the digits too, unless a newer code has replaced this one."""
        same = SignInCode.objects.filter(pk=row.pk, digest=row.digest)
        same.update(sealed=None, mail_due_at=None, mailed_at=mailed_at)

    def give_up(self, *, now: datetime) -> None:
        """Give up codes that expired before they were mailed, or whose attempts have all failed. Erase their digits."""
        tried = Q(mail_attempts__gte=MAX_ATTEMPTS, mail_due_at__lte=now)
        hopeless = SignInCode.objects.filter(Q(expires_at__lte=now) | tried, mail_due_at__isnull=False)
        given_up = list(hopeless.values_list("pk", flat=True))
        if given_up:
            log.error("sign-in codes were not mailed", extra={"codes": given_up})
            hopeless.update(sealed=None, mail_due_at=None)


_queue = _Codes()
send, send_due = _queue.send, _queue.send_due
