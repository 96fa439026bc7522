from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from accounts import letters, mailing
from accounts.models import User
from tests.accounts.conftest import ANN
from tests.doubles.smtp_server import SmtpServer

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


def send_letter(*, at: datetime) -> None:
    with time_machine.travel(at, tick=False):
        user, _ = User.objects.get_or_create(email=ANN)
        letters.write(user, subject="A word", text="Hello.", lang="en")
        letters.send_due(now=at)


def test_a_mail_server_is_failing_from_its_first_failure_until_it_takes_a_mail(smtp: SmtpServer) -> None:
    send_letter(at=NOON)
    assert mailing.failing_since(now=NOON) is None
    smtp.replies["DATA"] = "554 refused"
    send_letter(at=NOON)
    assert mailing.failing_since(now=NOON) == NOON
    smtp.replies.clear()
    send_letter(at=NOON + timedelta(minutes=5))
    assert mailing.failing_since(now=NOON + timedelta(minutes=5)) is None


def test_an_address_that_is_refused_says_that_the_mail_server_works(smtp: SmtpServer) -> None:
    smtp.replies["DATA"] = "554 refused"
    send_letter(at=NOON)
    smtp.replies = {"RCPT": "550 no such mailbox"}
    send_letter(at=NOON + timedelta(minutes=5))
    assert mailing.failing_since(now=NOON + timedelta(minutes=5)) is None


def test_a_failure_that_nothing_was_tried_after_is_forgotten(smtp: SmtpServer) -> None:
    smtp.replies["DATA"] = "554 refused"
    send_letter(at=NOON)
    assert mailing.failing_since(now=NOON + timedelta(minutes=59)) == NOON
    assert mailing.failing_since(now=NOON + timedelta(minutes=61)) is None
