"""Deletes old codes, letters, sessions, stored replies, used pages and jobs. Revoked keys stay, as history."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.contrib.sessions.models import Session as AdminSession
from django.db.models import Model, QuerySet

from accounts import console_sessions, replies
from accounts.console_models import ConsoleSession, WrongFactor
from accounts.helping import looks
from accounts.models import IdempotentReply, Letter, Session, SignInCode, WrongTry
from accounts.oauth import clients, issuing
from accounts.oauth.models import OAuthClient, OAuthGrant
from accounts.signin import DAY
from config.jobs import control
from config.models import UsedPage
from config.operator_settings import operator_settings

BATCH = 1_000
SESSION_KEPT = timedelta(days=7)
LETTER_KEPT = timedelta(days=180)  # operators may be asked which mails a person got


def run(*, now: datetime) -> int:
    """Delete everything that is old enough, in small transactions. Return the number of deleted rows.

    Looks of operators whose time is over get their end in the audit log.
    """
    looks.end_over(now=now)
    return sum(
        _delete(rows)
        for rows in (
            SignInCode.objects.filter(forget_at__lte=now, mail_due_at__isnull=True),
            WrongTry.objects.filter(at__lte=now - DAY),
            WrongFactor.objects.filter(at__lte=now - DAY),
            ConsoleSession.objects.filter(created_at__lte=now - console_sessions.LIFETIME),
            Session.objects.filter(expires_at__lte=now - SESSION_KEPT),
            IdempotentReply.objects.filter(created_at__lte=now - replies.KEPT),
            Letter.objects.filter(written_at__lte=now - LETTER_KEPT, mail_due_at__isnull=True),
            OAuthGrant.objects.filter(expires_at__lte=now - issuing.KEPT),
            OAuthGrant.objects.filter(expires_at__lte=now - issuing.UNANSWERED_KEPT, answered_at__isnull=True),
            OAuthClient.objects.filter(fetched_at__lte=now - clients.KEPT),
            UsedPage.objects.filter(forget_at__lte=now),
            *control.purgeable(now=now, kept=timedelta(days=operator_settings.JOBS_KEPT_DAYS)),
            AdminSession.objects.filter(expire_date__lte=now),
        )
    )


def _delete(rows: QuerySet[Model]) -> int:
    gone = 0
    while batch := list(rows.order_by().values_list("pk", flat=True)[:BATCH]):
        gone += rows.filter(pk__in=batch).delete()[0]
    return gone
