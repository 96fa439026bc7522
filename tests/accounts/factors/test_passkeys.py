"""Passkeys as second factor: made, used, and every way in which one must not work."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from accounts.console_models import Factor
from accounts.factors import checking
from tests.accounts.factors.authenticator import PRESENT, Authenticator
from tests.accounts.factors.people import CONFIRM, is_in, log_in, operator, said, with_app

ORIGIN, SITE = "https://console.example.com", "console.example.com"
ADD = "/admin/my-sign-in/passkey/"

pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]


@pytest.fixture(autouse=True)
def _https(settings: Settings) -> None:
    settings.BASE_URL = ORIGIN


@pytest.fixture
def key() -> Authenticator:
    return Authenticator(ORIGIN, SITE)


def options(browser: Client, page: str) -> str:
    answer: Any = browser.get(page)
    assert answer.status_code == 200
    return str(answer.context["options"])


def add(browser: Client, key: Authenticator, name: str = "yubikey") -> Any:
    return browser.post(ADD, {"name": name, "answer": key.made(options(browser, ADD))})


def test_an_operator_adds_two_passkeys_and_signs_in_with_either(key: Authenticator) -> None:
    user, other = operator(), Authenticator(ORIGIN, SITE)
    browser = log_in(user)
    assert "Your recovery codes" in said(add(browser, key))
    assert add(browser, other, "laptop")["Location"] == "/admin/my-sign-in/"
    assert {factor.name for factor in user.factors.all()} == {"yubikey", "laptop"}
    for one in (key, other):
        again = log_in(user)
        assert not is_in(again)
        asked = options(again, CONFIRM)
        assert again.post(CONFIRM, {"answer": one.signed(asked)}).status_code == 302
        assert is_in(again)
    assert Factor.objects.get(name="laptop").counter == 1


def test_an_answer_works_once_and_only_where_it_was_asked(key: Authenticator) -> None:
    user = operator()
    add(log_in(user), key)
    browser, elsewhere = log_in(user), log_in(user)
    answer = key.signed(options(browser, CONFIRM))
    options(elsewhere, CONFIRM)
    assert "refused" in said(elsewhere.post(CONFIRM, {"answer": answer}))
    assert browser.post(CONFIRM, {"answer": answer}).status_code == 302
    session = user.console_sessions.exclude(proof="").latest("created_at")
    with pytest.raises(checking.PasskeyRefused):
        checking.signature(session, answer, now=timezone.now())
    assert not is_in(elsewhere)


@pytest.mark.parametrize("fault", ["origin", "site", "not verified", "copied", "another key", "not theirs"])
def test_a_passkey_is_refused(key: Authenticator, fault: str) -> None:
    user = operator()
    add(log_in(user), key)
    if fault == "not theirs":
        user = operator("support")
        add(log_in(user), Authenticator(ORIGIN, SITE))
    browser = log_in(user)
    asked = options(browser, CONFIRM)
    if fault == "origin":
        key.origin = "https://console.example.org"
    if fault == "site":
        key.site = "console.example.org"
    if fault == "not verified":
        key.flags = PRESENT
    if fault == "copied":  # the server has seen a later counter
        Factor.objects.update(counter=7)
    if fault == "another key":
        twin = Authenticator(ORIGIN, SITE)
        twin.credential, key = key.credential, twin
    assert "refused" in said(browser.post(CONFIRM, {"answer": key.signed(asked)}))
    assert not is_in(browser)


@pytest.mark.parametrize("fault", ["origin", "not verified", "no challenge", "junk", "twice"])
def test_a_new_passkey_is_refused(key: Authenticator, fault: str) -> None:
    user = operator()
    browser = log_in(user)
    asked = options(browser, ADD)
    if fault == "origin":
        key.origin = "http://console.example.com"
    if fault == "not verified":
        key.flags = PRESENT
    answer = "{}" if fault == "junk" else key.made(asked)
    if fault == "no challenge":
        user.console_sessions.update(pending={})
    if fault == "twice":
        browser.post(ADD, {"name": "first", "answer": answer})
        answer = key.made(options(browser, ADD))
    assert browser.post(ADD, {"name": "key", "answer": answer}).status_code in {200, 409}
    assert not Factor.objects.exclude(name="first").exists()


def test_a_passkey_opens_the_console_while_codes_are_used_up(key: Authenticator) -> None:
    user = with_app(operator())
    browser = log_in(user)
    browser.post(CONFIRM, {"code": "0"})
    Factor.objects.all().delete()
    add(log_in(user), key)
    browser = log_in(user)
    for _ in range(checking.TRIES):
        browser.post(CONFIRM, {"code": "000000"})
    assert browser.post(CONFIRM, {"code": "000000"}).status_code == 429
    assert browser.post(CONFIRM, {"answer": key.signed(options(browser, CONFIRM))}).status_code == 302


@pytest.mark.parametrize("address", ["http://127.0.0.1:8000", "http://console.example.com"])
def test_where_browsers_refuse_passkeys_the_page_says_what_is_needed(settings: Settings, address: str) -> None:
    settings.BASE_URL = address
    page = said(log_in(operator()).get(ADD))
    assert "Passkeys need" in page
    assert "data-passkey" not in page
