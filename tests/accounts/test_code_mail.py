from __future__ import annotations

import socket
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from cryptography.fernet import Fernet
from django.db import connection
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts import code_mail, signin, tasks
from accounts.models import SignInCode
from tests.accounts.conftest import ANN, SignIn
from tests.doubles.smtp_server import SmtpServer
from tests.patience import Patience
from tests.workers import Workers

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOME = "192.0.2.1"

pytestmark = pytest.mark.django_db


def _request(email: str = ANN, *, now: datetime = NOON, lang: str = "en") -> str:
    return str(signin.request_code(email, household=HOME, lang=lang, now=now))


def test_the_code_goes_out_by_smtp(smtp: SmtpServer) -> None:
    code = _request(lang="ru")
    assert code_mail.send_due(now=NOON) == 1
    (message,) = smtp.mails
    assert smtp.recipients == [f"rcpt TO:<{ANN}>"]
    assert message["Subject"] == "Ваш код для входа в Agentpods"
    assert b"\r\nSubject: =?utf-8?" in smtp.raw[0]
    assert message["Auto-Submitted"] == "auto-generated"
    plain, html = (message.get_body((kind,)) for kind in ("plain", "html"))
    assert plain is not None
    assert html is not None
    assert code in plain.get_content()
    assert code in html.get_content()


def test_an_address_stands_in_the_text_as_it_is(smtp: SmtpServer) -> None:
    _request("o'brien+news@example.com")
    code_mail.send_due(now=NOON)
    assert "for o'brien+news@example.com only" in str(smtp.mails[0].get_body(("plain",)))


def test_a_code_is_mailed_once(smtp: SmtpServer) -> None:
    _request()
    code_id = SignInCode.objects.get().pk
    for _ in range(3):
        code_mail.send(code_id, now=NOON)
        code_mail.send_due(now=NOON + timedelta(minutes=5))
    assert len(smtp.mails) == 1
    row = SignInCode.objects.get()
    assert (row.sealed, row.mail_due_at) == (None, None)
    assert row.mailed_at is not None


def test_a_mail_server_that_fails_keeps_the_code_due_until_it_works(smtp: SmtpServer) -> None:
    code = _request()
    smtp.replies["DATA"] = "451 try later"
    assert code_mail.send_due(now=NOON) == 0
    del smtp.replies["DATA"]
    assert code_mail.send_due(now=NOON + timedelta(seconds=29)) == 0
    assert code_mail.send_due(now=NOON + timedelta(seconds=30)) == 1
    assert signin.verify_code(ANN, code=code, household=HOME, attribution=None, now=NOON + timedelta(seconds=31))


def test_attempts_are_bounded_and_end_with_the_digits_erased(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
    _request()
    for second in range(0, 700, 10):
        code_mail.send_due(now=NOON + timedelta(seconds=second))
    row = SignInCode.objects.get()
    assert row.mail_attempts == code_mail.MAX_ATTEMPTS
    assert (row.sealed, row.mail_due_at, row.mailed_at) == (None, None, None)


def test_a_code_that_expired_before_it_could_be_mailed_is_erased(smtp: SmtpServer) -> None:
    _request()
    assert code_mail.send_due(now=NOON + timedelta(minutes=10)) == 0
    row = SignInCode.objects.get()
    assert (row.sealed, row.mail_due_at) == (None, None)
    assert smtp.mails == []


def test_an_address_that_the_server_refuses_for_good_holds_up_nobody(smtp: SmtpServer) -> None:
    smtp.replies["RCPT"] = "550 no such user"
    _request("gone@example.com")
    assert code_mail.send_due(now=NOON) == 1
    row = SignInCode.objects.get()
    assert (row.sealed, row.mail_due_at, row.mailed_at) == (None, None, None)


def test_an_address_that_the_server_refuses_for_now_is_tried_again(smtp: SmtpServer) -> None:
    smtp.replies["RCPT"] = "450 mailbox busy"
    _request("busy@example.com")
    code_mail.send_due(now=NOON)
    del smtp.replies["RCPT"]
    code_mail.send_due(now=NOON + timedelta(seconds=30))
    assert len(smtp.mails) == 1


def test_a_scan_mails_all_that_is_due(smtp: SmtpServer) -> None:
    for number in range(5):
        _request(f"ann{number}@example.com")
    assert code_mail.send_due(now=NOON) == 5
    assert {message["To"] for message in smtp.mails} == {f"ann{number}@example.com" for number in range(5)}


@pytest.mark.django_db(transaction=True)
def test_a_code_asked_for_while_the_one_before_is_being_mailed_is_mailed_too(smtp: SmtpServer) -> None:
    first = _request()
    smtp.before_taking.clear()

    def scan() -> None:
        code_mail.send_due(now=NOON)
        connection.close()

    scanning = threading.Thread(target=scan)
    scanning.start()
    assert smtp.asked.wait(10)
    second = _request(now=NOON + timedelta(seconds=1))
    smtp.before_taking.set()
    scanning.join()
    code_mail.send_due(now=NOON + timedelta(seconds=2))
    bodies = [str(message.get_body(("plain",))) for message in smtp.mails]
    assert first in bodies[0]
    assert second in bodies[1]


@pytest.mark.django_db(transaction=True)
def test_scans_at_the_same_time_mail_each_code_once(smtp: SmtpServer) -> None:
    for number in range(8):
        _request(f"ann{number}@example.com")

    def scan() -> None:
        code_mail.send_due(now=NOON)
        connection.close()

    scans = [threading.Thread(target=scan) for _ in range(4)]
    for thread in scans:
        thread.start()
    for thread in scans:
        thread.join()
    assert sorted(str(message["To"]) for message in smtp.mails) == [f"ann{number}@example.com" for number in range(8)]


def test_a_code_sealed_with_a_lost_key_is_given_up_and_the_next_works(smtp: SmtpServer, settings: Settings) -> None:
    _request()
    settings.SECRETS_KEYS = [Fernet.generate_key().decode()]
    assert code_mail.send_due(now=NOON) == 1
    assert smtp.mails == []
    code = _request()
    assert code_mail.send_due(now=NOON) == 1
    assert signin.verify_code(ANN, code=code, household=HOME, attribution=None, now=NOON)


def test_the_digits_are_in_no_log(smtp: SmtpServer, api: APIClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    code = api.post("/auth/request", {"email": ANN}, format="json").json()["devCode"]
    smtp.replies["DATA"] = "554 refused"
    tasks.send_codes()
    assert "mail server failed" in caplog.text
    assert code not in caplog.text


@pytest.mark.sampled
@pytest.mark.django_db(transaction=True)
def test_a_worker_mails_the_code_at_once(celery: Workers, api: APIClient, smtp: SmtpServer) -> None:
    celery.start(
        "default",
        environment={
            "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
            "EMAIL_HOST": "127.0.0.1",
            "EMAIL_PORT": str(smtp.port),
        },
    )
    code = api.post("/auth/request", {"email": ANN}, format="json").json()["devCode"]
    patience = Patience(10)
    while not smtp.mails and not patience.ended():
        time.sleep(0.05)
    assert code in str(smtp.mails[0].get_body(("plain",)))


def test_in_development_the_mail_is_on_the_console(
    settings: Settings, capsys: pytest.CaptureFixture[str], sign_in: SignIn
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    with time_machine.travel(NOON, tick=False):
        code = _request()
        tasks.send_codes()
    assert code in capsys.readouterr().out
