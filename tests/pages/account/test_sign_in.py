"""/sign-in and /sign-in/code: signing in with the API's codes, by forms."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.conf import settings
from django.core import mail
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts import code_mail
from accounts.models import Session, SignInCode, User
from agents import suspension
from tests.operating import choose_setting
from tests.pages.account.visitor import Visitor, shown, text
from tests.pages.page import Page

pytestmark = pytest.mark.django_db
ANN = "ann@example.com"
ACCOUNT = "/account"


@pytest.fixture
def visitor() -> Visitor:
    return Visitor()


def asked(visitor: Visitor, email: str = ANN, *, then: str = "") -> tuple[Page, str]:
    """The page that asks for the code, and the code."""
    place = f"/sign-in{then and f'?next={then}'}"
    page = shown(visitor.send(visitor.open(place), form(visitor.open(place)), email=email))
    return page, page.one("code").text


def form(page: Page) -> str:
    """The target of the page's own form. For visitors who are not signed in, the page's header has no form."""
    return page.all("form")[0].attributes["action"]


def wrong(code: str) -> str:
    return f"{(int(code) + 1) % 10**6:06d}"


def test_a_person_signs_in_with_the_mailed_code(visitor: Visitor) -> None:
    page, code = asked(visitor)
    assert ANN in text(page)
    assert page.one("input", id="code").attributes["autocomplete"] == "one-time-code"
    assert ANN in text(visitor.follow(visitor.send(page, "/sign-in/code", code=code)))
    code_mail.send_due(now=timezone.now())
    assert code in str(mail.outbox[0].body)
    assert User.objects.get().email == ANN


def test_the_code_may_be_typed_as_the_mail_shows_it_or_with_spaces(visitor: Visitor) -> None:
    page, code = asked(visitor)
    assert visitor.send(page, "/sign-in/code", code=f" {code[:3]} {code[3:]} ").status_code == 303


def test_the_code_is_not_shown_where_the_api_does_not_show_it(visitor: Visitor, settings: Settings) -> None:
    settings.SHOW_DEV_CODES = False
    page = shown(visitor.send(visitor.open("/sign-in"), "/sign-in", email=ANN))
    assert page.all("code") == []
    assert re.search(r"\b\d{6}\b", text(page)) is None


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites_and_lives_as_long_as_the_session(
    visitor: Visitor,
) -> None:
    page, code = asked(visitor)
    cookie = visitor.send(page, "/sign-in/code", code=code).cookies[settings.ACCOUNT_COOKIE_NAME]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"], cookie["domain"]) == (True, "Lax", "/", "")
    left = Session.objects.get().expires_at - timezone.now()
    assert abs(cookie["max-age"] - left.total_seconds()) < 60
    assert cookie.value not in str(Session.objects.values().get())


def test_over_https_the_cookies_are_of_this_host_alone(visitor: Visitor, settings: Settings) -> None:
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    settings.ACCOUNT_COOKIE_NAME, settings.LANG_COOKIE_NAME = "__Host-agentpods-account", "__Host-agentpods-lang"
    page, code = asked(visitor)
    cookies = visitor.send(page, "/sign-in/code", code=code).cookies
    assert cookies["__Host-agentpods-account"]["secure"] is True
    assert visitor.client.get("/sign-in?lang=ru").cookies["__Host-agentpods-lang"]["secure"] is True
    left = visitor.send(visitor.open(ACCOUNT), "/sign-out").cookies["__Host-agentpods-account"]
    assert (left.value, left["max-age"], left["secure"], left["path"]) == ("", 0, True, "/")


def test_wrong_digits_are_told_and_the_right_ones_still_work(visitor: Visitor) -> None:
    page, code = asked(visitor)
    again = shown(visitor.send(page, "/sign-in/code", code=wrong(code)), status=401)
    assert again.one("p", role="alert").text.startswith("These are not the digits")
    assert visitor.send(again, "/sign-in/code", code=code).status_code == 303


@pytest.mark.parametrize("typed", ["", "12345", "1234567", "abcdef", "１２３４５６", "12345\0"])
def test_what_is_no_code_is_told_without_counting_as_a_try(visitor: Visitor, typed: str) -> None:
    page, code = asked(visitor)
    for _ in range(11):
        page = shown(visitor.send(page, "/sign-in/code", code=typed), status=400)
    assert page.one("p", role="alert").text == "A code has six digits."
    assert visitor.send(page, "/sign-in/code", code=code).status_code == 303


def test_an_expired_code_leads_to_a_new_one(visitor: Visitor) -> None:
    with time_machine.travel(datetime(2026, 11, 21, 12, tzinfo=UTC), tick=False) as clock:
        page, code = asked(visitor)
        clock.shift(timedelta(minutes=10))
        late = shown(visitor.send(page, "/sign-in/code", code=code), status=401)
        assert "expired or was used" in text(late)
        assert late.one("input", id="email").attributes["value"] == ANN
        page = shown(visitor.send(late, "/sign-in"))
        assert visitor.send(page, "/sign-in/code", code=page.one("code").text).status_code == 303


def test_a_used_code_is_used(visitor: Visitor) -> None:
    page, code = asked(visitor)
    visitor.send(page, "/sign-in/code", code=code)
    other = Visitor()
    form_of_other = {"csrfmiddlewaretoken": token(other), "email": ANN, "code": code}
    assert "was used" in text(shown(other.post("/sign-in/code", **form_of_other), status=401))


def test_after_five_wrong_codes_the_page_says_to_have_a_new_one_sent_and_that_works(visitor: Visitor) -> None:
    with time_machine.travel(datetime(2026, 11, 21, 12, tzinfo=UTC), tick=False) as clock:
        page, code = asked(visitor)
        for _ in range(5):
            assert visitor.send(page, "/sign-in/code", code=wrong(code)).status_code == 401
        refused = shown(visitor.send(page, "/sign-in/code", code=code), status=429)
        assert "Have a new code sent" in text(refused)
        clock.shift(timedelta(seconds=1))
        page = shown(visitor.send(refused, "/sign-in"))
        assert visitor.send(page, "/sign-in/code", code=page.one("code").text).status_code == 303


def test_the_limit_by_address_is_the_apis_and_counts_with_it(visitor: Visitor, api: APIClient) -> None:
    for _ in range(5):
        assert api.post("/auth/request", {"email": ANN}, format="json").status_code == 202
        asked(visitor)
    refused = shown(visitor.send(visitor.open("/sign-in"), "/sign-in", email=ANN), status=429)
    assert "Please wait 10 minutes" in text(refused)
    assert refused.one("input", id="email").attributes["value"] == ANN


@pytest.mark.parametrize(
    "email", ["", "ann", "ann@", "ann@exa\nmple.com", "a" * 300 + "@example.com", "анна@example.com", "a\0@example.com"]
)
def test_what_is_no_address_is_told(visitor: Visitor, email: str) -> None:
    page = shown(visitor.send(visitor.open("/sign-in"), "/sign-in", email=email), status=400)
    assert "Please enter an e-mail address" in page.one("p", role="alert").text
    assert not SignInCode.objects.exists()


def test_an_address_is_the_same_however_it_is_spelled(visitor: Visitor) -> None:
    page, code = asked(visitor, " Ann@EXAMPLE.com ")
    assert visitor.send(page, "/sign-in/code", code=code).status_code == 303
    assert User.objects.get().email == ANN


def test_while_sign_ups_are_closed_only_those_with_an_account_come_in(visitor: Visitor) -> None:
    User.objects.create_user("old@example.com")
    choose_setting("SIGN_UPS_OPEN", "0")
    page, code = asked(visitor)
    refused = shown(visitor.send(page, "/sign-in/code", code=code), status=401)
    assert "We take no new accounts" in text(refused)
    assert not User.objects.filter(email=ANN).exists()
    page, code = asked(visitor, "old@example.com")
    assert visitor.send(page, "/sign-in/code", code=code).status_code == 303


def test_a_suspended_account_does_not_come_in_and_is_thrown_out(visitor: Visitor) -> None:
    page, code = asked(visitor)
    visitor.send(page, "/sign-in/code", code=code)
    suspension.suspend(User.objects.get(), reason="abuse", actor="operator:ops@example.com")
    assert visitor.client.get(ACCOUNT).headers["Location"] == "/sign-in"
    page, code = asked(visitor)
    assert "suspended" in text(shown(visitor.send(page, "/sign-in/code", code=code), status=401))


@pytest.mark.parametrize(
    ("then", "place"),
    [
        ("/renew/agt_0123456789abcdef01234567%3Ftier%3Dsmall", "/renew/agt_0123456789abcdef01234567?tier=small"),
        ("/account/agents/agt_1", "/account/agents/agt_1"),
        ("https://evil.example/", ACCOUNT),
        ("//evil.example/account", ACCOUNT),
        ("/\\evil.example", ACCOUNT),
        ("/account\\@evil.example", ACCOUNT),
        ("/%09/evil.example", ACCOUNT),
        ("%2F%2Fevil.example", ACCOUNT),
        ("/account%0d%0aSet-Cookie:a=b", ACCOUNT),
        ("/account.evil.example", ACCOUNT),
        ("/account@evil.example", ACCOUNT),
        ("javascript:alert(1)", ACCOUNT),
        ("account", ACCOUNT),
        ("/admin/", ACCOUNT),
        ("/sign-out", ACCOUNT),
        ("/account/" + "a" * 6_000, ACCOUNT),
        ("", ACCOUNT),
    ],
)
def test_the_way_back_leads_to_these_pages_and_nowhere_else(visitor: Visitor, then: str, place: str) -> None:
    page, code = asked(visitor, then=then)
    answer = visitor.send(page, form(page), code=code)
    assert (answer.status_code, answer.headers["Location"]) == (303, place)
    assert visitor.client.get(f"/sign-in?next={then}").headers["Location"] == place


def test_a_wrong_code_does_not_lose_the_way_back(visitor: Visitor) -> None:
    page, code = asked(visitor, then="/account/agents/agt_1")
    again = shown(visitor.send(page, form(page), code=wrong(code)), status=401)
    assert visitor.send(again, form(again), code=code).headers["Location"] == "/account/agents/agt_1"


def test_signing_in_again_ends_the_session_of_before(visitor: Visitor) -> None:
    page, code = asked(visitor)
    visitor.send(page, "/sign-in/code", code=code)
    page = shown(visitor.post("/sign-in", email="bob@example.com", csrfmiddlewaretoken=token(visitor)))
    answer = visitor.send(page, "/sign-in/code", code=page.one("code").text)
    assert "bob@example.com" in text(visitor.follow(answer))
    assert [session.user.email for session in Session.objects.all()] == ["bob@example.com"]


def token(visitor: Visitor) -> str:
    place = "/sign-in" if settings.ACCOUNT_COOKIE_NAME not in visitor.client.cookies else ACCOUNT
    return visitor.open(place).all("input", name="csrfmiddlewaretoken")[0].attributes["value"]


def test_the_mail_is_in_the_language_that_the_page_was_read_in() -> None:
    visitor = Visitor()
    visitor.client.get("/sign-in?lang=ru")
    page = visitor.open("/sign-in")
    shown(visitor.send(page, "/sign-in", email=ANN))
    assert SignInCode.objects.get().lang == "ru"


def test_the_mail_is_in_the_language_of_the_page() -> None:
    visitor = Visitor(accept_language="pt-BR, en;q=0.5")
    page = visitor.open("/sign-in")
    assert page.lang == "pt"
    shown(visitor.send(page, "/sign-in", email=ANN))
    assert SignInCode.objects.get().lang == "pt"


def test_what_was_typed_comes_back_as_text(visitor: Visitor) -> None:
    typed = '"><script>alert(1)</script>@example.com'
    page = shown(visitor.send(visitor.open("/sign-in"), "/sign-in", email=typed), status=400)
    assert page.one("input", id="email").attributes["value"] == typed
    assert len(page.all("script")) == 1


@pytest.mark.parametrize("lang", ["es", "pt", "tr", "id"])
def test_who_comes_from_a_page_in_another_language_goes_on_in_it(visitor: Visitor, lang: str) -> None:
    public = visitor.open(f"/{lang}/")
    door = next(one.attributes["href"] for one in public.all("a") if one.attributes["href"].startswith("/account"))
    page = shown(visitor.client.get(door, follow=True))
    assert page.lang == lang
    assert shown(visitor.send(page, page.all("form", method="post")[0].attributes["action"], email=ANN)).lang == lang
