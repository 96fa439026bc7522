"""A code after the password: who needs it, how it is added, and what somebody gets who has only the password."""

from __future__ import annotations

import re
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core import mail
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts.console_models import ConsoleSession, Factor, WrongFactor
from accounts.factors import checking, recovery
from accounts.models import Letter, User
from config.audit.models import AuditEntry
from tests import operating
from tests.accounts.factors.people import CONFIRM, MINE, PASSWORD, is_in, log_in, operator, said, shown_by_app, with_app
from tests.operating import choose_setting

pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]

PAGES = (
    *("/admin/", "/admin/accounts/user/", "/admin/agents/agent/", "/admin/password_change/", MINE),
    *("/admin/autocomplete/?app_label=agents&model_name=agent&field_name=user", "/admin/my-sign-in/app/"),
    *("/admin/accounts/user/reset-sign-in/?id=x", "/admin/my-sign-in/codes/", "/admin/r/1/x/", "/admin/nothing/"),
)


def secret_on(page: str) -> str:
    found = re.search(r'<code class="secret">([A-Z2-7 ]+)</code>', page)
    assert found
    return found[1].replace(" ", "")


def codes_on(page: str) -> list[str]:
    return re.findall(r'<code class="secret">([a-z2-9-]+)</code>', page)


def add_app(browser: Client, name: str = "phone") -> list[str]:
    """Add an app as a person does it. Returns the recovery codes."""
    page = said(browser.get("/admin/my-sign-in/app/"))
    assert "<svg" in page
    code = shown_by_app(secret=secret_on(page))
    answer = browser.post("/admin/my-sign-in/app/", {"name": name, "code": code}, follow=True)
    assert answer.status_code == 200
    return codes_on(said(answer))


def test_an_operator_adds_an_app_and_is_asked_for_it_from_then_on(clock: Any) -> None:
    user = operator("support")
    elsewhere, browser = log_in(user), log_in(user)
    assert is_in(browser), "in development the password is enough"
    codes = add_app(browser)
    assert len(set(codes)) == 10
    assert is_in(browser)
    assert not is_in(elsewhere), "other sessions end"
    assert "phone was added" in Letter.objects.get().text
    page = said(browser.get(MINE))
    assert "10 unused codes" in page
    assert not set(codes) & set(codes_on(page)), "the codes are shown once"
    assert Factor.objects.get().secret not in str(list(connection_rows("accounts_factor"))), "it is sealed"

    second = log_in(user)
    assert not is_in(second)
    wrong = second.post(CONFIRM, {"code": "000000"})
    assert "wrong or was used already" in said(wrong)
    clock.shift(30)
    answer = second.post(
        f"{CONFIRM}?next=/admin/agents/agent/", {"code": shown_by_app(secret=Factor.objects.get().secret)}
    )
    assert (answer.status_code, answer["Location"]) == (302, "/admin/agents/agent/")
    assert is_in(second)
    verbs = list(AuditEntry.objects.order_by("pk").values_list("verb", flat=True))
    assert verbs[-3:] == ["Password given", "Second factor refused", "Signed in"]


def connection_rows(table: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(f"select * from {table}")  # the name is the test's
        return cursor.fetchall()


def test_the_password_alone_opens_no_page_of_who_has_a_factor() -> None:
    user = with_app(operator())
    browser = log_in(user)
    known = Factor.objects.values_list("pk", "counter").get()
    for page in PAGES:
        for answer in (browser.get(page), browser.post(page, {"action": "sign_out", "name": "x", "code": "1"})):
            assert answer.status_code == 302, page
            assert answer["Location"].startswith((CONFIRM, "/admin/login/")), page
    assert Factor.objects.values_list("pk", "counter").get() == known
    menu = said(browser.get(CONFIRM))
    assert "nav-sidebar" not in menu
    assert "/admin/agents/agent/" not in menu


@pytest.mark.parametrize(
    ("role", "setting", "needs"),
    [
        ("support", "optional", False),
        ("support", "required", True),
        ("auditor", "required", False),
        ("auditor", "everyone", True),
        ("superuser", "required", True),
    ],
)
def test_the_setting_says_who_needs_one(role: str, setting: str, needs: bool) -> None:
    choose_setting("SECOND_FACTOR", setting)
    is_super = role == "superuser"
    user = User.objects.create_superuser("root@example.com", PASSWORD) if is_super else operator(role)
    browser = log_in(user)
    assert is_in(browser) is not needs
    if needs:
        for page in PAGES:
            allowed = page in {MINE, "/admin/my-sign-in/app/"}
            assert (browser.get(page).status_code == 200) is allowed, page
        assert add_app(browser)
        assert is_in(browser)


def test_another_role_or_a_right_of_ones_own_makes_an_auditor_need_one() -> None:
    choose_setting("SECOND_FACTOR", "required")
    user = operator("auditor")
    browser = log_in(user)
    assert is_in(browser)
    user.groups.add(Group.objects.get(name="finance"))
    assert not is_in(browser), "in the middle of a session too"
    assert browser.get("/admin/")["Location"] == MINE


def test_a_code_works_once_and_its_neighbours_too(clock: Any) -> None:
    user = with_app(operator())
    late = shown_by_app(steps=-1)
    assert checking.code(user, late, now=timezone.now()) == "app"
    for code, is_right in [
        (late, False),
        (shown_by_app(), True),
        (shown_by_app(), False),
        (shown_by_app(steps=-1), False),
        (shown_by_app(steps=1), True),
        (shown_by_app(), False),
        (shown_by_app(steps=2), False),
    ]:
        WrongFactor.objects.all().delete()
        try:
            checking.code(user, code, now=timezone.now())
        except checking.NotTheFactor:
            assert not is_right, code
        else:
            assert is_right, code


def test_wrong_codes_are_limited_for_the_person_and_the_person_is_told(clock: Any) -> None:
    user = with_app(operator())
    browsers = [log_in(user, REMOTE_ADDR=f"192.0.2.{number}") for number in range(checking.TRIES)]
    assert {one.post(CONFIRM, {"code": "000000"}).status_code for one in browsers} == {200}
    browser = browsers[0]
    answer = browser.post(CONFIRM, {"code": shown_by_app()})
    assert answer.status_code == 429
    assert "try again in 15 minutes" in said(answer)
    assert not is_in(browser)
    assert Letter.objects.get().subject == "Wrong codes at the console"
    clock.shift(15 * 60 + 1)
    assert log_in(user).post(CONFIRM, {"code": shown_by_app()}).status_code == 302


def test_a_day_has_twenty_wrong_codes(clock: Any) -> None:
    user = with_app(operator())
    for _ in range(checking.TRIES_A_DAY // checking.TRIES):
        for _ in range(checking.TRIES):
            with pytest.raises(checking.NotTheFactor):
                checking.code(user, "000000", now=timezone.now())
        clock.shift(checking.WINDOW + timedelta(seconds=1))
    with pytest.raises(checking.TooManyWrongFactors):
        checking.code(user, shown_by_app(), now=timezone.now())


def test_a_recovery_code_works_once_however_it_is_typed(clock: Any) -> None:
    user = operator()
    codes = add_app(log_in(user))
    browser = log_in(user)
    assert browser.post(CONFIRM, {"code": f" {codes[0].upper()} "}).status_code == 302
    assert "9 unused codes" in said(browser.get(MINE))
    again = log_in(user)
    assert again.post(CONFIRM, {"code": codes[0]}).status_code == 200
    assert not is_in(again)
    assert codes[1].replace("-", "") not in str(connection_rows("accounts_recoverycode"))


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_one_code_opens_one_session_and_wrong_ones_are_all_counted() -> None:
    user = with_app(operator())
    with_codes = recovery.renew(user)
    results: list[str] = []

    def try_it(code: str) -> None:
        try:
            results.append(str(checking.code(user, code, now=timezone.now())))
        except (checking.NotTheFactor, checking.TooManyWrongFactors) as error:
            results.append(type(error).__name__)
        finally:
            connection.close()

    for code in (shown_by_app(), with_codes[0]):
        results.clear()
        WrongFactor.objects.all().delete()
        at_once(try_it, [code] * 4)
        assert len([one for one in results if one in {"app", "recovery"}]) == 1
    results.clear()
    WrongFactor.objects.all().delete()
    at_once(try_it, ["000000"] * 8)
    assert sorted(results) == ["NotTheFactor"] * 5 + ["TooManyWrongFactors"] * 3


def at_once(run: Any, given: list[str]) -> None:
    threads = [threading.Thread(target=run, args=(one,)) for one in given]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)


def test_the_second_step_is_open_for_ten_minutes_and_starts_a_new_session_key(clock: Any) -> None:
    user = with_app(operator())
    browser = log_in(user)
    clock.shift(601)
    assert browser.get(CONFIRM)["Location"].startswith("/admin/login/?next=")
    browser = log_in(user)
    before = browser.cookies["session"].value
    browser.post(CONFIRM, {"code": shown_by_app()})
    assert browser.cookies["session"].value != before
    stolen = Client()
    stolen.cookies["session"] = before
    assert not is_in(stolen)


@pytest.mark.parametrize(
    "to", ["https://evil.example/", "//evil.example", "/\\evil.example", "/account", "javascript:1"]
)
def test_the_second_step_leads_nowhere_else(to: str) -> None:
    browser = log_in(with_app(operator()))
    answer = browser.post(CONFIRM + "?next=" + to, {"code": shown_by_app()})
    assert answer["Location"] == "/admin/"


def test_pages_that_change_the_sign_in_ask_for_the_factor_again(clock: Any) -> None:
    user = with_app(operator())
    browser = log_in(user)
    browser.post(CONFIRM, {"code": shown_by_app()})
    assert browser.get("/admin/password_change/").status_code == 200
    clock.shift(1201)
    factor = Factor.objects.get()
    for page in ("/admin/password_change/", "/admin/my-sign-in/codes/", f"/admin/my-sign-in/remove/{factor.pk}/"):
        assert browser.get(page)["Location"] == f"{CONFIRM}?next={page}"
        assert browser.post(page)["Location"].startswith(CONFIRM)
    assert is_in(browser), "other pages stay open"
    page = "/admin/my-sign-in/codes/"
    assert browser.post(f"{CONFIRM}?next={page}", {"code": shown_by_app()})["Location"] == page
    assert browser.get(page).status_code == 200


def test_the_last_factor_of_who_needs_one_stays(clock: Any) -> None:
    user = operator()
    browser = log_in(user)
    add_app(browser)
    first = Factor.objects.get()
    choose_setting("SECOND_FACTOR", "required")
    answer = browser.post(f"/admin/my-sign-in/remove/{first.pk}/", follow=True)
    assert "your last second factor" in said(answer)
    add_app(browser, name="tablet")
    assert browser.get(f"/admin/my-sign-in/remove/{first.pk}/").status_code == 200
    browser.post(f"/admin/my-sign-in/remove/{first.pk}/")
    assert [factor.name for factor in Factor.objects.all()] == ["tablet"]
    assert is_in(browser)


def test_new_recovery_codes_replace_the_old_ones(clock: Any) -> None:
    browser = log_in(operator())
    old = add_app(browser)
    new = codes_on(said(browser.post("/admin/my-sign-in/codes/")))
    assert len(new) == 10
    assert not set(old) & set(new)
    user = User.objects.get()
    with pytest.raises(checking.NotTheFactor):
        checking.code(user, old[0], now=timezone.now())
    assert checking.code(user, new[0], now=timezone.now()) == "recovery"


def test_an_owner_resets_the_sign_in_of_another_and_the_person_is_told(clock: Any) -> None:
    ann, owner = with_app(operator("support")), log_in(operator())
    theirs = log_in(ann)
    theirs.post(CONFIRM, {"code": shown_by_app()})
    assert is_in(theirs)
    operating.act(owner, "/admin/accounts/user/", "reset_sign_in", ann, reason="lost the phone, I called back")
    assert not Factor.objects.exists()
    assert not is_in(theirs)
    assert is_in(log_in(ann))
    row = AuditEntry.objects.get(verb="Reset sign-in")
    assert (row.who, row.object_id, row.reason) == ("owner@example.com", ann.pk, "lost the phone, I called back")
    assert "removed by an owner" in Letter.objects.get(user=ann).text


def test_nobody_resets_their_own_sign_in_or_a_superusers(clock: Any) -> None:
    root = with_app(User.objects.create_superuser("root@example.com", PASSWORD))
    me = operator()
    browser = log_in(me)
    add_app(browser)
    for other in (root, me):
        operating.act(browser, "/admin/accounts/user/", "reset_sign_in", other)
    assert Factor.objects.count() == 2
    support = log_in(operator("support"))
    assert support.get(f"/admin/accounts/user/reset-sign-in/?id={me.pk}").status_code == 403


def test_the_last_owner_is_helped_by_a_command() -> None:
    user = with_app(operator())
    call_command("reset_sign_in", "Owner@Example.com", reason="lost the phone")
    assert not Factor.objects.exists()
    row = AuditEntry.objects.get(verb="Second factors reset")
    assert (row.who, row.label, row.reason) == ("manage.py", user.email, "lost the phone")
    for nobody in ("ann@example.com", "nonsense"):
        with pytest.raises(CommandError):
            call_command("reset_sign_in", nobody, reason="x")


@pytest.mark.sampled
def test_odd_input_is_refused_and_breaks_nothing(clock: Any) -> None:
    browser = log_in(with_app(operator()))
    for sent in (
        *(
            {},
            {"code": ""},
            {"code": "9" * 10_000},
            {"code": "１２３４５６"},
            {"code": "\0"},
            {"answer": "x" * 100_000},
        ),
        *({"answer": "{}"}, {"answer": "[" * 5_000}, {"answer": '{"id": 1}'}, {"password": PASSWORD}),
    ):
        WrongFactor.objects.all().delete()
        assert browser.post(CONFIRM, sent).status_code == 200, sent
    assert not is_in(browser)
    assert mail.outbox == []
    assert ConsoleSession.objects.count() == 1
