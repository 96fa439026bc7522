"""Operators look at the mails that people get, and send one to themselves as a test."""

from __future__ import annotations

from dataclasses import replace

import pytest
import time_machine
from django.conf import settings
from django.contrib.auth.models import Permission
from django.core import mail
from django.test import Client
from django.utils import timezone

from accounts import letters, mail_admin
from accounts.models import Letter, User
from config import outgoing_mail
from config.mail_forms import FORMS

MAILS = "/admin/accounts/letter/mails/"
STOPS = f"{MAILS}pod_stops/ru/"

pytestmark = pytest.mark.django_db


def client_of(*rights: str) -> Client:
    operator = User.objects.create_user("operator@example.com", is_staff=True)
    operator.user_permissions.set(Permission.objects.filter(codename__in=rights))
    client = Client()
    client.force_login(operator)
    return client


@pytest.fixture
def client() -> Client:
    return client_of("view_letter", "add_letter")


def test_an_operator_finds_every_mail_in_every_language(client: Client) -> None:
    assert MAILS in client.get("/admin/accounts/letter/").content.decode()
    listed = client.get(MAILS).content.decode()
    places = [f"{MAILS}{name}/{lang}/" for name in FORMS for lang, _ in settings.LANGUAGES]
    assert [place for place in places if f'"{place}"' not in listed] == []
    for name, form in FORMS.items():
        case = next(iter(form.cases), "")
        shown = client.get(f"{MAILS}{name}/es/html", {"case": case})
        assert shown.content.decode() == outgoing_mail.rendered(name, lang="es", **form.values(case)).html
    assert client.get(STOPS).context["mail"] == outgoing_mail.rendered(
        "pod_stops", lang="ru", **FORMS["pod_stops"].values()
    )


def test_the_frame_with_the_mail_runs_nothing_and_stands_only_in_the_console(client: Client) -> None:
    page, shown = client.get(STOPS), client.get(f"{STOPS}html")
    assert "<iframe sandbox" in page.content.decode()
    assert "frame-src 'self'" in page["Content-Security-Policy"]
    assert (page["X-Frame-Options"], shown["X-Frame-Options"]) == ("DENY", "SAMEORIGIN")
    policy = shown["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline';")
    assert policy.endswith("frame-ancestors 'self'; sandbox")


def test_a_test_mail_goes_to_the_operators_own_address_as_all_letters_do(client: Client) -> None:
    answer = client.post(f"{STOPS}send?case=free+time", {"email": "eve@example.com"}, follow=True)
    assert "On its way to operator@example.com." in answer.content.decode()
    letters.send_due(now=timezone.now())
    (sent,) = mail.outbox
    real = outgoing_mail.rendered("pod_stops", lang="ru", **FORMS["pod_stops"].values("free time"))
    assert (sent.to, sent.subject, sent.body) == (["operator@example.com"], f"[Test] {real.subject}", real.text)
    assert sent.alternatives[0][0] == real.html  # type: ignore[union-attr]  # an EmailMultiAlternatives


def test_so_many_test_mails_an_hour_and_no_more(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail_admin, "TESTS", replace(mail_admin.TESTS, times=2))
    with time_machine.travel("2026-11-21T12:00:00Z", tick=False):
        for _ in range(2):
            client.post(f"{STOPS}send")
        refused = client.post(f"{STOPS}send", follow=True)
    assert "Not sent: more than 2 requests in 60 minutes" in refused.content.decode()
    assert Letter.objects.count() == 2


def test_a_look_sends_nothing(client: Client) -> None:
    assert client.get(f"{STOPS}send").status_code == 405
    assert not Letter.objects.exists()


def test_who_may_only_look_sends_nothing() -> None:
    looking = client_of("view_letter")
    assert "Send it to" not in looking.get(STOPS).content.decode()
    assert looking.post(f"{STOPS}send").status_code == 403
    assert not Letter.objects.exists()


@pytest.mark.parametrize("place", ["", "pod_stops/ru/", "pod_stops/ru/html", "pod_stops/ru/send"])
def test_who_may_not_see_letters_sees_no_mail(place: str) -> None:
    assert client_of("view_user", "add_letter").post(f"{MAILS}{place}").status_code == 403


@pytest.mark.parametrize("place", ["frame/en/", "../en/", "pod_stops/xx/", "pod_stops/en/?case=none"])
def test_what_is_no_mail_is_not_there(client: Client, place: str) -> None:
    assert client.get(f"{MAILS}{place}").status_code == 404
