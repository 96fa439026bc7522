"""Queues of stored mails, such as letters and sign-in codes: one process at a time claims a mail, sends it, and tries
again after a failure.
"""

from __future__ import annotations

import logging
import smtplib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime, timedelta
from email.header import Header
from enum import Enum, auto
from typing import Any, ClassVar, Generic, TypeVar

from django.conf import settings
from django.core import mail
from django.core.mail import EmailMessage, EmailMultiAlternatives
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import Mailed, MailServer

log = logging.getLogger(__name__)

MAILS_PER_SCAN = 100
FAILURE_HOLDS = timedelta(hours=1)

Row = TypeVar("Row", bound=Mailed)


class MailOutcome(Enum):
    TAKEN = auto()
    REFUSED = auto()  # this address, permanently
    LATER = auto()  # this address, for now
    FAILED = auto()  # the server itself fails, so the next mail would fail too


class SubjectInLine(EmailMultiAlternatives):
    """A mail whose subject starts on the same line as `Subject:`.

    Django folds the subject without counting that word, so a long first part would move to the next line.
    """

    def message(self, **kwargs: Any) -> Any:
        built = super().message(**kwargs)
        if not str(self.subject).isascii():
            built.replace_header("Subject", Header(str(self.subject), "utf-8", header_name="Subject"))
        return built


class MailQueue(ABC, Generic[Row]):
    """The stored mails of one kind."""

    retry_seconds: ClassVar[Sequence[int]]  # the waits before the next attempt, one for each attempt

    @abstractmethod
    def waiting(self, *, now: datetime) -> QuerySet[Row]:
        """The rows that may still be mailed."""

    @abstractmethod
    def message(self, row: Row) -> EmailMessage | None:
        """The mail. None if it cannot be read any more."""

    @abstractmethod
    def done(self, row: Row, *, mailed_at: datetime | None) -> None:
        """End the attempts: the mail server took the mail, or it never will."""

    @abstractmethod
    def give_up(self, *, now: datetime) -> None:
        """Log the rows that have waited too long, and end their attempts."""

    def send(self, row_id: str, *, now: datetime) -> None:
        """Mail this row if it is due. Calling it twice is harmless."""
        self._send_next(self.waiting(now=now).filter(pk=row_id), mail.get_connection(), now=now)

    def send_due(self, *, now: datetime) -> int:
        """Mail the due rows, at most MAILS_PER_SCAN. Return how many the mail server took or refused.

        Stops when the mail server is down.
        """
        self.give_up(now=now)
        connection = mail.get_connection()
        for sent in range(MAILS_PER_SCAN):
            if not self._send_next(self.waiting(now=now), connection, now=now):
                return sent
        return MAILS_PER_SCAN

    def _send_next(self, rows: QuerySet[Row], connection: BaseEmailBackend, *, now: datetime) -> bool:
        """Mail the next due row. Return whether to go on: false if nothing is due or the mail server is down."""
        row = self._claim(rows, now=now)
        if row is None:
            return False
        message = self.message(row)
        outcome = hand_over(message, connection, row=row) if message else MailOutcome.REFUSED
        if outcome in {MailOutcome.TAKEN, MailOutcome.REFUSED}:
            self.done(row, mailed_at=timezone.now() if outcome is MailOutcome.TAKEN else None)
        return outcome is not MailOutcome.FAILED

    @transaction.atomic
    def _claim(self, rows: QuerySet[Row], *, now: datetime) -> Row | None:
        """Take the next due row and set its next attempt, in case this one fails or its process dies."""
        due = rows.filter(mail_due_at__lte=now, mail_attempts__lt=len(self.retry_seconds))
        row = due.select_for_update(skip_locked=True).order_by("mail_due_at").first()
        if row is not None:
            row.mail_due_at = now + timedelta(seconds=self.retry_seconds[row.mail_attempts])
            row.mail_attempts += 1
            row.save(update_fields=["mail_due_at", "mail_attempts"])
        return row


def hand_over(message: EmailMessage, connection: BaseEmailBackend, *, row: Mailed) -> MailOutcome:
    """Give the mail to the mail server. The log gets only the id of the row and nothing of the mail."""
    message.connection = connection
    try:
        message.send()
    except smtplib.SMTPRecipientsRefused as error:
        refused_for_good = all(status >= 500 for status, _ in error.recipients.values())
        log.warning("the mail server refused the address of %s", row.pk, extra={"for_good": refused_for_good})
        _forget_failure()  # the server answers
        return MailOutcome.REFUSED if refused_for_good else MailOutcome.LATER
    except OSError as error:  # SMTPException is an OSError too
        server = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
        told = "the mail server failed (%s: %s): the mail waits and is tried again"
        log.error(told, server, _told(error), extra={"mail": row.pk, "error": _told(error)})
        _note_failure(now=timezone.now())
        return MailOutcome.FAILED
    _forget_failure()
    return MailOutcome.TAKEN


def failing_since(*, now: datetime) -> datetime | None:
    """When the mail server last failed.

    None if it has taken a mail since then, or if the failure is over an hour old.
    """
    return MailServer.objects.filter(failed_at__gt=now - FAILURE_HOLDS).values_list("failed_at", flat=True).first()


def _note_failure(*, now: datetime) -> None:
    MailServer.objects.bulk_create(
        [MailServer(failed_at=now)], update_conflicts=True, unique_fields=["id"], update_fields=["failed_at"]
    )


def _forget_failure() -> None:
    MailServer.objects.filter(failed_at__isnull=False).update(failed_at=None)


def _told(error: OSError) -> str:
    """The error for the log. A mail server may quote the address in its text, so only its code is logged."""
    if isinstance(error, smtplib.SMTPResponseException):
        return f"{type(error).__name__} {error.smtp_code}"
    return str(error)
