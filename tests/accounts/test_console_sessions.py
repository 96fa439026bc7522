"""Sessions of the console: each is listed with who, since when and from where, and can be ended."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.utils import quote
from django.contrib.sessions.models import Session as StoredSession
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts import console_sessions, purge
from accounts.console_models import ConsoleSession
from accounts.models import User
from config.audit.models import AuditEntry
from tests import operating
from tests.accounts.conftest import NOON
from tests.accounts.factors.people import MINE, PASSWORD, is_in, log_in, operator, said

LIST = "/admin/accounts/consolesession/"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]


def test_a_session_shows_who_since_when_and_from_where(clock: Any) -> None:
    browser = log_in(operator(), REMOTE_ADDR="192.0.2.7", HTTP_USER_AGENT=FIREFOX)
    for page in (said(browser.get(LIST)), said(browser.get(MINE))):
        for text in ("owner@example.com", "192.0.2.7", "Firefox, Linux"):
            assert text in page
    row = ConsoleSession.objects.get()
    clock.shift(59)
    browser.get("/admin/")
    row.refresh_from_db()
    assert row.seen_at == NOON, "written at most once a minute"
    clock.shift(2)
    browser.get("/admin/", REMOTE_ADDR="192.0.2.8")
    row.refresh_from_db()
    assert ((row.seen_at - NOON).seconds, row.address) == (61, "192.0.2.8")


def test_a_page_costs_one_query_for_its_session_however_many_there_are() -> None:
    ann = operator("support")
    browser = log_in(ann)
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            assert is_in(browser)
        assert len([one for one in queries if "accounts_consolesession" in one["sql"]]) == 1
        rows = [ConsoleSession(user=ann, created_at=NOON, seen_at=NOON, confirmed_at=NOON) for _ in range(30)]
        ConsoleSession.objects.bulk_create(rows)


def test_an_owner_ends_one_session_or_all_of_a_person() -> None:
    owner, ann, bob = log_in(operator()), operator("support"), operator("finance")
    first, second, other = log_in(ann), log_in(ann), log_in(bob)
    row = ConsoleSession.objects.filter(user=ann).earliest("created_at")
    operating.act(owner, LIST, "end_console_sessions", row)
    assert (is_in(first), is_in(second)) == (False, True)
    assert "Log in" in said(first.get("/admin/", follow=True))
    entry = AuditEntry.objects.get(verb="End console sessions")
    assert (entry.who, entry.label) == ("owner@example.com", ann.email)
    operating.act(owner, "/admin/accounts/user/", "sign_out", ann)
    assert not is_in(second)
    assert is_in(other, "/admin/billing/payment/")


def test_only_owners_end_sessions_and_not_a_superusers() -> None:
    root = User.objects.create_superuser("root@example.com", PASSWORD)
    theirs, owner = log_in(root), log_in(operator())
    operating.act(owner, LIST, "end_console_sessions", ConsoleSession.objects.get(user=root))
    operating.act(owner, "/admin/accounts/user/", "sign_out", root)
    assert is_in(theirs)
    row = ConsoleSession.objects.get(user=root)
    for role, sees in (("auditor", 200), ("operator", 403), ("support", 403)):
        browser = log_in(operator(role))
        assert browser.get(LIST).status_code == sees
        assert browser.get(f"{LIST}end-console-sessions/?id={row.pk}").status_code == 403


def test_one_ends_ones_own_other_sessions_and_nobody_elses() -> None:
    ann = operator("support")
    here, there, third = log_in(ann), log_in(ann), log_in(ann)
    strange = log_in(operator("finance"))
    rows = list(ConsoleSession.objects.filter(user=ann).order_by("created_at"))
    strange_row = ConsoleSession.objects.get(user__email="finance@example.com")
    for row in (rows[1], rows[0], strange_row):
        here.post("/admin/my-sign-in/end/", {"id": row.pk})
    assert [is_in(one) for one in (here, there, third)] == [True, False, True]
    assert is_in(strange, "/admin/billing/payment/")
    here.post("/admin/my-sign-in/end/")
    assert not is_in(third)
    assert here.get("/admin/my-sign-in/end/").status_code == 405


def test_signing_out_ends_the_session_and_a_stolen_cookie_is_worth_nothing() -> None:
    browser, thief = log_in(operator()), Client()
    thief.cookies["session"] = browser.cookies["session"].value
    stored = StoredSession.objects.get()
    browser.post("/admin/logout/")
    assert not ConsoleSession.objects.exists()
    stored.save(force_insert=True)  # as if Django's session had outlived it
    assert not is_in(thief)


def test_a_session_that_django_knows_alone_opens_nothing() -> None:
    browser = log_in(operator())
    ConsoleSession.objects.all().delete()
    answer = browser.get("/admin/")
    assert answer["Location"].startswith("/admin/login/")
    page = said(browser.get(answer["Location"]))
    assert "not authorized" not in page
    assert "id_username" in page


def test_a_new_password_keeps_this_session_and_no_other() -> None:
    ann = operator("support")
    here, there = log_in(ann), log_in(ann)
    new = "another good password"
    sent = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert here.post("/admin/password_change/", sent).status_code == 302
    assert (is_in(here), is_in(there)) == (True, False)
    assert ConsoleSession.objects.filter(user=ann).count() == 1
    owner = log_in(operator())
    sent = {"password1": PASSWORD, "password2": PASSWORD, "usable_password": "true"}
    assert owner.post(f"/admin/accounts/user/{quote(ann.pk)}/password/", sent).status_code == 302
    assert not ConsoleSession.objects.filter(user=ann).exists()
    assert is_in(owner)


def test_sessions_end_after_two_weeks_and_are_few(clock: Any) -> None:
    ann = operator("support")
    browser = log_in(ann)
    for _ in range(console_sessions.MOST):
        browser.force_login(ann)  # the same browser: the one that it had ends
    assert ConsoleSession.objects.count() == 1
    for _ in range(console_sessions.MOST + 3):
        Client().force_login(ann)
    assert ConsoleSession.objects.count() == console_sessions.MOST
    clock.shift(1)  # of sessions that began in the same moment, any may be the oldest
    browser = Client()
    browser.force_login(ann)
    for _ in range(14):
        clock.shift(86_400)
        if _ < 13:
            assert is_in(browser)
    assert not is_in(browser)
    purge.run(now=NOON + timedelta(seconds=1) + console_sessions.LIFETIME)
    assert not ConsoleSession.objects.exists()
