"""The common rules of all account pages: cookies, CSRF, languages, headers, errors as pages."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import keys, sessions
from accounts.models import ApiKey, Session, User
from agents.models import Agent
from tests.pages.account.visitor import Visitor, shown, text

ACCOUNT = "/account"
FORMS = ["/sign-in", "/sign-in/code", "/sign-out", "/account/keys", "/account/keys/key_1/revoke"]


@pytest.fixture
def visitor(owner: User) -> Visitor:
    return Visitor(owner)


@pytest.mark.parametrize("kind", ["session", "key"])
def test_a_bearer_token_opens_no_page(owner: User, kind: str) -> None:
    now = timezone.now()
    token = sessions.start(owner, attribution=None, now=now)[1]
    secret = token if kind == "session" else keys.create(owner, name="k", now=now)[1]
    answer = Client().get(ACCOUNT, headers={"authorization": f"Bearer {secret}"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/sign-in")


def test_a_key_in_the_cookie_opens_no_page(owner: User) -> None:
    visitor = Visitor()
    visitor.client.cookies[settings.ACCOUNT_COOKIE_NAME] = keys.create(owner, name="k", now=timezone.now())[1]
    assert visitor.client.get(ACCOUNT).status_code == 303


@pytest.mark.parametrize("place", ["/me", "/agents", "/keys", "/subscriptions"])
def test_the_cookie_opens_nothing_of_the_api(visitor: Visitor, place: str) -> None:
    assert visitor.client.get(place).status_code == 401


def test_the_cookie_does_not_open_the_admin_even_to_an_operator(visitor: Visitor, owner: User) -> None:
    User.objects.filter(pk=owner.pk).update(is_staff=True, is_superuser=True)
    assert visitor.client.get("/admin/").status_code == 302
    assert "/admin/login" in visitor.client.get("/admin/").headers["Location"]


def test_the_operators_session_opens_no_account(owner: User) -> None:
    User.objects.filter(pk=owner.pk).update(is_staff=True, is_superuser=True)
    client = Client()
    client.force_login(User.objects.get(pk=owner.pk))
    assert client.get("/admin/").status_code == 200
    assert client.get(ACCOUNT).status_code == 303


@pytest.mark.parametrize("token", ["", "st_live_x", "a" * 5000, "Ñ\x8f", 'a"b;c', "\\000"])
def test_a_cookie_that_signs_nobody_in_is_taken_back(db: None, token: str) -> None:
    client = Client(raise_request_exception=False)
    answer = client.get(ACCOUNT, headers={"cookie": f"{settings.ACCOUNT_COOKIE_NAME}={token}"})
    assert answer.status_code == 303
    assert answer.cookies[settings.ACCOUNT_COOKIE_NAME]["max-age"] == 0


def test_an_ended_session_opens_nothing(visitor: Visitor) -> None:
    Session.objects.update(expires_at=timezone.now())
    assert visitor.client.get(ACCOUNT).status_code == 303


def test_what_was_typed_is_not_lost_with_an_ended_session_and_no_secret_is_shown(
    visitor: Visitor, running: Agent
) -> None:
    place = f"/account/agents/{running.pk}/settings"
    page = visitor.open(place)
    Session.objects.update(expires_at=timezone.now())
    visitor.client.defaults["HTTP_REFERER"] = f"http://testserver{place}"
    said = shown(visitor.send(page, place, extra_soul="<b>I like cats.", key="sk-secret", headers="X: y"), status=401)
    assert "Nothing was saved." in text(said)
    assert [one.text for one in said.all("textarea", readonly="")] == [running.name, "<b>I like cats."]
    assert "sk-secret" not in said.html
    assert "X: y" not in said.html
    door = said.one("a", class_="button").attributes
    assert (door["href"], door["target"]) == (f"/sign-in?{urlencode({'next': place})}", "_blank")
    running.refresh_from_db()
    assert running.extra_soul is None


@pytest.mark.parametrize(
    ("came_from", "door"),
    [
        ("http://testserver/account/keys?x=1", "/sign-in?next=%2Faccount%2Fkeys%3Fx%3D1"),
        ("http://evil.example/account/keys", "/sign-in"),
        ("http://testserver//evil.example/", "/sign-in"),
        ("http://[", "/sign-in"),
        ("", "/sign-in"),
    ],
)
def test_a_button_of_an_ended_session_leads_back_to_its_page_and_to_no_other_host(
    visitor: Visitor, running: Agent, came_from: str, door: str
) -> None:
    page = visitor.open(f"/account/agents/{running.pk}")
    Session.objects.update(expires_at=timezone.now())
    visitor.client.defaults["HTTP_REFERER"] = came_from
    answer = visitor.send(page, f"/account/agents/{running.pk}/pause")
    assert (answer.status_code, answer.headers["Location"]) == (303, door)


@pytest.mark.parametrize("place", FORMS)
def test_a_form_without_its_token_is_refused(visitor: Visitor, place: str) -> None:
    visitor.open(ACCOUNT)
    page = shown(visitor.client.post(place, {"email": "ann@example.com", "name": "laptop"}), status=403)
    assert "too old" in text(page)
    assert (ApiKey.objects.count(), Session.objects.count()) == (0, 1)


@pytest.mark.parametrize("place", FORMS)
def test_a_form_from_another_site_is_refused(visitor: Visitor, place: str) -> None:
    page = visitor.open(ACCOUNT)
    token = page.all("input", name="csrfmiddlewaretoken")[0].attributes["value"]
    sent = {"email": "ann@example.com", "name": "laptop", "csrfmiddlewaretoken": token}
    for origin in ("https://evil.example", "null"):
        assert visitor.client.post(place, sent, headers={"origin": origin}).status_code == 403
    assert (ApiKey.objects.count(), Session.objects.count()) == (0, 1)


@pytest.mark.parametrize("place", FORMS)
def test_every_page_with_a_form_gives_its_token(visitor: Visitor, place: str) -> None:
    """Only a form with a token changes anything; opening a page does not."""
    visitor.client.get(place)
    assert (ApiKey.objects.count(), Session.objects.count()) == (0, 1)


@pytest.mark.parametrize("kind", ["application/json", "text/plain"])
def test_only_forms_are_read(visitor: Visitor, kind: str) -> None:
    token = visitor.open(ACCOUNT).all("input", name="csrfmiddlewaretoken")[0].attributes["value"]
    answer = visitor.client.post("/account/keys", b"{}", content_type=kind, headers={"x-csrftoken": token})
    assert "That did not work" in text(shown(answer, status=415))


@pytest.mark.parametrize(
    ("body", "status"), [("a=" + "b" * 2_000_000, 413), ("&".join(f"f{n}=1" for n in range(2_000)), 403)]
)
def test_a_form_that_is_too_large_is_refused(visitor: Visitor, body: str, status: int) -> None:
    kind = "application/x-www-form-urlencoded"
    refused = visitor.client.post("/account/keys", body, content_type=kind)
    assert (refused.status_code, refused["Content-Type"]) == (status, "text/html; charset=utf-8")


@pytest.mark.parametrize("place", ["/sign-in", "/account", "/account/nowhere", "/account/agents/agt_1"])
def test_no_page_is_kept_framed_or_scripted_by_others(visitor: Visitor, place: str) -> None:
    headers = (visitor if place != "/sign-in" else Visitor()).client.get(place).headers
    assert headers["Cache-Control"] == "no-store"
    assert "Cookie" in headers["Vary"]
    policy = dict(part.strip().partition(" ")[::2] for part in headers["Content-Security-Policy"].split(";"))
    assert (policy["default-src"], policy["script-src"], policy["style-src"]) == ("'none'", "'self'", "'self'")
    assert (policy["frame-ancestors"], policy["base-uri"], policy["form-action"]) == ("'none'", "'none'", "'self'")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


def test_nothing_is_scripted_or_styled_in_the_page(visitor: Visitor) -> None:
    page = visitor.open(ACCOUNT)
    assert [one.attributes.get("src", "")[:8] for one in page.all("script")] == ["/static/"]
    assert page.all("style") == []
    inline = {name for one in page.elements for name in one.attributes if name.startswith("on") or name == "style"}
    assert inline == set()


@pytest.mark.parametrize(
    ("headers", "lang"),
    [
        ({}, "en"),
        ({"accept_language": "ru"}, "ru"),
        ({"accept_language": "ru-RU,ru;q=0.9,en;q=0.5"}, "ru"),
        ({"accept_language": "es, ru;q=0.5"}, "es"),
        ({"accept_language": "de, pt-BR;q=0.5"}, "pt"),
        ({"accept_language": "de, fr;q=0.5"}, "en"),
        ({"accept_language": "ru;q=0, en"}, "en"),
        ({"accept_language": "\"';--" * 100}, "en"),
    ],
)
def test_who_chose_nothing_reads_what_the_browser_prefers(db: None, headers: Any, lang: str) -> None:
    answer = Visitor(**headers).client.get("/sign-in")
    assert (shown(answer).lang, answer.headers["Content-Language"]) == (lang, lang)


def test_a_person_reads_the_language_that_they_signed_in_with(owner: User) -> None:
    User.objects.filter(pk=owner.pk).update(lang="ru")
    assert Visitor(owner, accept_language="en").open(ACCOUNT).lang == "ru"


def test_a_choice_of_language_comes_before_all_else_and_stays(owner: User) -> None:
    visitor = Visitor(owner, accept_language="ru")
    User.objects.filter(pk=owner.pk).update(lang="ru")
    answer = visitor.client.get("/account?keys=a&lang=en&agents=b")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/account?keys=a&agents=b")
    cookie = answer.cookies[settings.LANG_COOKIE_NAME]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/")
    assert visitor.open(ACCOUNT).lang == "en"


def test_the_choice_is_kept_on_the_way_to_signing_in(db: None) -> None:
    visitor = Visitor()
    there = visitor.client.get("/account?lang=ru", follow=True)
    assert [place for place, _ in there.redirect_chain] == ["/account", "/sign-in"]
    assert shown(there).lang == "ru"


@pytest.mark.parametrize("lang", ["de", "xx", "en%0d%0a", "../ru", ""])
def test_a_language_that_these_pages_do_not_have_changes_nothing(visitor: Visitor, lang: str) -> None:
    answer = visitor.client.get(f"/account?lang={lang}")
    assert answer.status_code == 200
    assert settings.LANG_COOKIE_NAME not in answer.cookies


def test_the_menu_has_all_languages_at_the_same_place(visitor: Visitor) -> None:
    links = visitor.open("/account/keys/key_1/revoke?a=b%26c", status=404).all("a")
    hrefs = {one.attributes["hreflang"]: one.attributes["href"] for one in links if "lang" in one.attributes}
    assert hrefs == {
        code: f"/account/keys/key_1/revoke?a=b%26c&lang={code}" for code in ("en", "ru", "es", "pt", "tr", "id")
    }


@pytest.mark.parametrize(
    ("place", "status"),
    [("/account/nowhere", 404), ("/sign-in/nowhere", 404), ("/account/agents/agt_1/nowhere", 404), ("/sign-out", 405)],
)
def test_what_is_not_there_is_told_by_a_page(visitor: Visitor, place: str, status: int) -> None:
    answer = visitor.client.get(place)
    assert answer.headers["Content-Type"].startswith("text/html")
    assert shown(answer, status=status).one("h1").text


def test_a_slash_too_many_leads_on(visitor: Visitor) -> None:
    for place in ("/account/", "/sign-in/", "/account/agents/agt_1/"):
        answer = visitor.client.get(place)
        assert (answer.status_code, answer.headers["Location"]) == (303, place.rstrip("/"))


def test_the_public_pages_link_here_and_read_no_cookie(visitor: Visitor, owner: User) -> None:
    signed_in, anybody = visitor.client.get("/ru/"), Client().get("/ru/")
    assert signed_in.content == anybody.content
    assert signed_in.headers["ETag"] == anybody.headers["ETag"]
    assert "Cookie" not in signed_in.headers["Vary"]
    assert shown(anybody).all("a", href="/account?lang=ru")


def test_the_account_is_part_of_no_api_description(api: APIClient) -> None:
    paths = api.get("/openapi.json").json()["paths"]
    assert [path for path in paths if path.startswith(("/account", "/sign", "/renew"))] == []
