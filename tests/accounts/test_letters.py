from __future__ import annotations

import socket
import threading
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.contrib.admin.utils import quote
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts import letters, purge, tasks
from accounts.models import Letter, User
from config.audit.models import AuditEntry
from tests import operating
from tests.accounts.conftest import ANN
from tests.doubles.smtp_server import SmtpServer
from tests.patience import wait_until
from tests.workers import Workers

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


@pytest.fixture
def user(db: None) -> User:
    return User.objects.create_user(ANN)


def _write(user: User, subject: str = "A word", text: str = "Hello.", html: str | None = None) -> Letter:
    with time_machine.travel(NOON, tick=False):
        return letters.write(user, subject=subject, text=text, html=html, lang="en")


def test_a_letter_goes_out_by_smtp_once(smtp: SmtpServer, user: User) -> None:
    letter = _write(user, "Ваше письмо", "Привет.\n", "<p>Привет.</p>")
    for minutes in (0, 5, 60):
        letters.send(letter.pk, now=NOON + timedelta(minutes=minutes))
        letters.send_due(now=NOON + timedelta(minutes=minutes))
    (message,) = smtp.mails
    assert smtp.recipients == [f"rcpt TO:<{ANN}>"]
    assert message["Subject"] == "Ваше письмо"
    assert (message["Auto-Submitted"], message["Content-Language"]) == ("auto-generated", "en")
    plain, html = (message.get_body((kind,)) for kind in ("plain", "html"))
    assert plain is not None
    assert html is not None
    assert (plain.get_content().strip(), html.get_content().strip()) == ("Привет.", "<p>Привет.</p>")
    letter.refresh_from_db()
    assert letter.mail_due_at is None
    assert letter.mailed_at is not None


def test_a_letter_without_html_is_plain_text(smtp: SmtpServer, user: User) -> None:
    _write(user)
    assert letters.send_due(now=NOON) == 1
    assert smtp.mails[0].get_content_type() == "text/plain"


def test_what_is_rolled_back_tells_nobody(smtp: SmtpServer, user: User) -> None:
    def refused() -> None:
        _write(user)
        raise RuntimeError("changed our mind")

    with pytest.raises(RuntimeError), transaction.atomic():
        refused()
    assert letters.send_due(now=NOON) == 0
    assert not Letter.objects.exists()


@pytest.mark.parametrize(
    ("subject", "line"),
    [
        ("Hi\r\nBcc: eve@example.com", "Hi Bcc: eve@example.com"),
        ("Hi\x00\x0b\x0c\x85\u2028\u2029there", "Hi there"),
        ("\u202eko si siht\u2066", "ko si siht"),
        ("👩\u200d💻 and 🦉", "👩\u200d💻 and 🦉"),
        ("long " * 60, ("long " * 40)[:199] + "…"),
    ],
)
def test_a_subject_is_one_line(smtp: SmtpServer, user: User, subject: str, line: str) -> None:
    _write(user, subject)
    letters.send_due(now=NOON)
    (message,) = smtp.mails
    assert message["Subject"].strip() == line
    assert message["Bcc"] is None
    assert smtp.recipients == [f"rcpt TO:<{ANN}>"]


@pytest.mark.parametrize(
    "subject",
    [
        "Ваше письмо",
        "Ваша персона «Сова» снята",
        f"Ваша персона «{'Полуночная сова ' * 9}» снята с публикации",
        "夜" * 200,
        "🦉" * 200,
        f"“{'x' * 190}”",
        "Night owl " * 19,
    ],
)
def test_a_subject_begins_on_its_own_line_and_no_line_is_long(smtp: SmtpServer, user: User, subject: str) -> None:
    _write(user, subject, "Hello.", "<p>Hello.</p>")
    letters.send_due(now=NOON)
    head, _, _ = smtp.raw[0].partition(b"\r\n\r\n")
    lines = head.decode("ascii").split("\r\n")
    assert next(line for line in lines if line.startswith("Subject:")).removeprefix("Subject:").strip()
    assert max(map(len, lines)) <= 78
    assert smtp.mails[0]["Subject"].strip() == subject.strip()


def test_a_mail_server_that_fails_keeps_the_letter_due_until_it_works(smtp: SmtpServer, user: User) -> None:
    _write(user)
    smtp.replies["DATA"] = "451 try later"
    assert letters.send_due(now=NOON) == 0
    del smtp.replies["DATA"]
    assert letters.send_due(now=NOON + timedelta(seconds=59)) == 0
    assert letters.send_due(now=NOON + timedelta(seconds=60)) == 1
    assert len(smtp.mails) == 1


def test_a_mail_server_that_is_away_for_two_days_ends_in_an_error(
    settings: Settings, user: User, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
    letter = _write(user)
    for hour in range(48):
        for minute in (0, 1, 6, 21):
            letters.send_due(now=NOON + timedelta(hours=hour, minutes=minute))
    letter.refresh_from_db()
    assert letter.mail_attempts == letters.MAX_ATTEMPTS
    assert (letter.mail_due_at, letter.mailed_at) == (None, None)
    assert [record.levelname for record in caplog.records if record.message == "letters were not mailed"] == ["ERROR"]


def test_an_address_that_is_refused_for_good_holds_up_nobody(smtp: SmtpServer, user: User) -> None:
    letter = _write(user)
    smtp.replies["RCPT"] = "550 no such user"
    assert letters.send_due(now=NOON) == 1
    letter.refresh_from_db()
    assert (letter.mail_due_at, letter.mailed_at) == (None, None)


def test_an_address_that_is_refused_for_now_is_tried_again(smtp: SmtpServer, user: User) -> None:
    _write(user)
    smtp.replies["RCPT"] = "450 mailbox busy"
    letters.send_due(now=NOON)
    del smtp.replies["RCPT"]
    letters.send_due(now=NOON + timedelta(minutes=1))
    assert len(smtp.mails) == 1


@pytest.mark.django_db(transaction=True)
def test_while_one_worker_hands_a_letter_over_no_other_does(smtp: SmtpServer, user: User) -> None:
    for number in range(4):
        _write(user, f"Letter {number}")
    smtp.before_taking.clear()

    def scan() -> None:
        letters.send_due(now=NOON)
        connection.close()

    scans = [threading.Thread(target=scan) for _ in range(3)]
    for thread in scans:
        thread.start()
    assert smtp.asked.wait(10)
    smtp.before_taking.set()
    for thread in scans:
        thread.join()
    assert sorted(str(message["Subject"]) for message in smtp.mails) == [f"Letter {number}" for number in range(4)]


@pytest.mark.sampled
@pytest.mark.django_db(transaction=True)
def test_a_letter_goes_to_a_worker_at_once_and_to_the_next_when_that_one_is_killed(
    celery: Workers, smtp: SmtpServer, user: User
) -> None:
    smtp.before_taking.clear()
    worker = celery.start("default", environment=_mail_environment(smtp))
    letter = letters.write(user, subject="A word", text="Hello.", lang="en")
    assert smtp.asked.wait(10)
    worker.kill()
    worker.wait(10)
    letter.refresh_from_db()
    assert letter.mail_attempts == 1
    smtp.replies["DATA"] = "451 nobody listens any more"
    smtp.before_taking.set()
    wait_until(lambda: smtp.refused == 1)  # a mail of the worker that is gone
    assert letter.mail_due_at is not None
    assert letters.send_due(now=letter.mail_due_at - timedelta(seconds=1)) == 0
    del smtp.replies["DATA"]
    assert letters.send_due(now=letter.mail_due_at) == 1
    assert [str(message["Subject"]) for message in smtp.mails] == ["A word"]


def _mail_environment(smtp: SmtpServer) -> dict[str, str]:
    return {
        "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "EMAIL_HOST": "127.0.0.1",
        "EMAIL_PORT": str(smtp.port),
    }


def test_the_scan_reads_no_letter_that_is_done(user: User) -> None:
    Letter.objects.bulk_create(
        Letter(user=user, email=ANN, subject="Old", text="Old.", lang="en", written_at=NOON, mailed_at=NOON)
        for _ in range(2_000)
    )
    with connection.cursor() as cursor:
        cursor.execute("analyze accounts_letter")
        due = Letter.objects.filter(mail_due_at__lte=NOON, mail_attempts__lt=8).order_by("mail_due_at")[:1]
        assert "letter_mail_due" in due.explain()


def test_old_letters_go_and_what_still_waits_stays(user: User) -> None:
    _write(user)
    late = NOON + timedelta(days=180)
    purge.run(now=late)
    assert Letter.objects.exists()
    Letter.objects.update(mail_due_at=None)
    purge.run(now=late - timedelta(seconds=1))
    assert Letter.objects.exists()
    purge.run(now=late)
    assert not Letter.objects.exists()


def test_letters_are_in_the_language_of_the_last_sign_in(api: APIClient) -> None:
    for language, lang in (("ru-RU,ru;q=0.9", "ru"), ("pt-BR", "pt"), ("id", "id"), ("de", "en")):
        asked = api.post("/auth/request", {"email": ANN}, format="json", headers={"Accept-Language": language})
        code = {"email": ANN, "code": asked.json()["devCode"]}
        assert api.post("/auth/verify", code, format="json").status_code == 200
        assert User.objects.get(email=ANN).lang == lang


def test_the_console_shows_letters_and_changes_none(smtp: SmtpServer, user: User) -> None:
    console = Client()
    console.force_login(User.objects.create_superuser("operator@example.com"))
    letter = _write(user, "<b>bold</b>", "<script>alert(1)</script>", "<script>alert(1)</script>")
    page, one = "/admin/accounts/letter/", f"/admin/accounts/letter/{quote(letter.pk)}/change/"
    with CaptureQueriesContext(connection) as queries:
        answers = [console.get(page), console.get(one), console.get(page, {"q": ANN, "mailed_at__isempty": "1"})]
    assert [answer.status_code for answer in answers] == [200] * 3
    assert not any("<b>bold" in body or "<script>alert" in body for body in (str(a.content) for a in answers))
    assert not any('"html"' in query["sql"] for query in queries)
    assert console.post(one, {"subject": "x"}).status_code == 403
    assert console.post(one.replace("change", "delete"), {"post": "yes"}).status_code == 403


def test_an_operator_sends_a_mail_again_with_a_reason(smtp: SmtpServer, user: User) -> None:
    console = Client()
    console.force_login(User.objects.create_superuser("operator@example.com"))
    sent, waiting = _write(user, "Your trial ends"), _write(user, "still waits")
    letters.send(sent.pk, now=NOON)
    operating.act(console, "/admin/accounts/letter/", "resend_letters", sent, waiting)
    sent.refresh_from_db()
    assert (sent.mail_attempts, sent.mail_due_at is not None) == (0, True)
    assert AuditEntry.objects.filter(object_id=sent.pk, reason=operating.WHY).exists()
    assert not AuditEntry.objects.filter(object_id=waiting.pk).exists()
    letters.send_due(now=timezone.now())
    assert [mail["Subject"] for mail in smtp.mails].count("Your trial ends") == 2
    ids = {mail["Message-ID"] for mail in smtp.mails if mail["Subject"] == "Your trial ends"}
    assert len(ids) == 1, "a mail program knows the second copy"


def test_a_mail_that_waits_or_whose_person_is_gone_is_not_sent_again(user: User) -> None:
    letter = _write(user)
    with pytest.raises(letters.LetterWaits):
        letters.send_again(letter, now=NOON)
    Letter.objects.update(mail_due_at=None)
    letter.user.email = "usr@deleted.invalid"
    with pytest.raises(letters.OfNobody):
        letters.send_again(letter, now=NOON)


def test_the_scan_is_a_task(smtp: SmtpServer, user: User) -> None:
    with time_machine.travel(NOON, tick=False):
        _write(user)
        tasks.send_letters()
    assert len(smtp.mails) == 1


def test_what_a_mail_server_says_of_an_address_is_not_logged(
    smtp: SmtpServer, user: User, caplog: pytest.LogCaptureFixture
) -> None:
    smtp.replies["DATA"] = f"554 5.7.1 mail to <{ANN}> was rejected"
    _write(user)
    letters.send_due(now=NOON)
    (record,) = (record for record in caplog.records if record.name == "accounts.mailing")
    assert record.__dict__["error"] == "SMTPDataError 554"
    assert not any(ANN in str(value) for value in record.__dict__.values())
