"""Letters: mails that must not be lost. They are written in a transaction, mailed after it, and retried by a scan."""

from __future__ import annotations

import logging
from datetime import datetime
from email.utils import parseaddr

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts import mail_choices
from accounts.mailing import MailQueue, SubjectInLine
from accounts.models import SUBJECT_LENGTH, Letter, User
from config import background
from config.errors import Conflict
from config.outgoing_mail import Mail, one_line

log = logging.getLogger(__name__)

# The waits before the next attempt: a mail server may be down for almost two days.
RETRY_SECONDS = (60, 300, 900, 3_600, 10_800, 21_600, 43_200, 86_400)
MAX_ATTEMPTS = len(RETRY_SECONDS)
LOOKED_AT = 200  # letters among which those that name something are looked for


@transaction.atomic
def write(user: User, *, subject: str, text: str, html: str | None = None, lang: str) -> Letter:
    """Have this mailed to the user after the current transaction commits. If it rolls back, nothing is mailed."""
    now = timezone.now()
    letter = Letter.objects.create(
        user=user,
        email=user.email,
        subject=one_line(subject, at_most=SUBJECT_LENGTH),
        text=text,
        html=html,
        lang=lang,
        written_at=now,
        mail_due_at=now,
    )
    background.on_commit("accounts.send_letter", letter.id)
    return letter


@transaction.atomic
def send_again(letter: Letter, *, now: datetime) -> None:
    """Mail a letter that was mailed or given up, unchanged and to the same address. Raises LetterWaits, OfNobody."""
    if letter.user.is_erased:
        raise OfNobody
    ended = Letter.objects.filter(pk=letter.pk, mail_due_at=None)
    if not ended.update(mail_due_at=now, mail_attempts=0):
        raise LetterWaits
    background.on_commit("accounts.send_letter", letter.pk)


def carry(user_id: str, mail: Mail) -> Letter | None:
    """The same for a mail of `config.outgoing_mail`. Returns None if the user turned such mails off or is deleted."""
    user = User.objects.get(pk=user_id)
    if user.is_erased or not mail_choices.wants(user, mail.name):
        return None
    return write(user, subject=mail.subject, text=mail.text, html=mail.html, lang=mail.lang)


class LetterWaits(Conflict):
    message = "this mail still waits to be sent"


class OfNobody(Conflict):
    message = "this person has deleted the account"


class _Letters(MailQueue[Letter]):
    retry_seconds = RETRY_SECONDS

    def waiting(self, *, now: datetime) -> QuerySet[Letter]:
        return Letter.objects.all()

    def message(self, row: Letter) -> SubjectInLine:
        return _message(row)

    def done(self, row: Letter, *, mailed_at: datetime | None) -> None:
        Letter.objects.filter(pk=row.pk).update(mail_due_at=None, mailed_at=mailed_at)

    def give_up(self, *, now: datetime) -> None:
        tried = Letter.objects.filter(mail_due_at__lte=now, mail_attempts__gte=MAX_ATTEMPTS)
        given_up = list(tried.values_list("pk", flat=True))
        if given_up:
            log.error("letters were not mailed", extra={"letters": given_up})
            tried.filter(pk__in=given_up).update(mail_due_at=None)


def _message(letter: Letter) -> SubjectInLine:
    """The mail.

    Its Message-ID contains the letter's id, so that mail programs recognise a second copy after a lost answer.
    """
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2]
    headers = {
        "Auto-Submitted": "auto-generated",
        "Content-Language": letter.lang,
        "Message-ID": f"<{letter.id}@{domain}>",
    }
    message = SubjectInLine(subject=letter.subject, body=letter.text, to=[letter.email], headers=headers)
    if letter.html is not None:
        message.attach_alternative(letter.html, "text/html")
    return message


_queue = _Letters()
send, send_due = _queue.send, _queue.send_due


def newest(user_id: str, *, naming: str = "", most: int) -> list[Letter]:
    """The newest letters to this user. With `naming`, those of the last 200 whose text has these words."""
    rows = Letter.objects.filter(user=user_id).order_by("-written_at", "-id")
    if naming:
        among = rows.values("pk")[:LOOKED_AT]
        rows = Letter.objects.filter(pk__in=among, text__contains=naming).order_by("-written_at", "-id")
    return list(rows.defer("text", "html")[:most])
