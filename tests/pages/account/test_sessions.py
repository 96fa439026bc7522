"""/account/sessions: where a person is signed in, and how to end a session."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import clients, sessions
from accounts.models import Session, User
from tests.pages.account.visitor import Visitor, text
from tests.pages.page import Page

PATH = "/account/sessions"
DAY = timedelta(days=1)
PHONE = (
    "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Mobile Safari/537.36"
)


@pytest.mark.parametrize(
    ("agent", "named"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox, Linux"),
        (PHONE, "Chrome, Android"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1", "Safari, iPhone"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge, Windows"),
        ("curl/8.5.0", "curl"),
        ("<script>alert(1)</script>", ""),
        ("x" * 100_000 + "Firefox/1", ""),
    ],
)
def test_a_client_is_named_in_words_of_ours(agent: str, named: str) -> None:
    assert clients.named({"HTTP_USER_AGENT": agent}) == named


def test_each_sign_in_is_listed_and_one_is_ended_alone(owner: User, stranger: User, api: APIClient) -> None:
    here = Visitor(owner)
    now = timezone.now()
    phone, token = sessions.start(owner, attribution=None, client=clients.named({"HTTP_USER_AGENT": PHONE}), now=now)
    other, _ = sessions.start(owner, attribution=None, now=now - DAY)
    theirs, _ = sessions.start(stranger, attribution=None, client="Opera, Windows", now=now)
    sessions.start(owner, attribution=None, client="Edge, Windows", now=now - 31 * DAY)  # an expired session
    page = here.open(PATH)
    said = text(page)
    assert said.index("here, now") < said.index("Chrome, Android") < said.rindex("Unknown browser")
    assert "Opera" not in said
    assert "Edge" not in said
    after = here.follow(here.send(page, f"{PATH}/{phone.pk}/end"))
    assert "Chrome, Android" not in text(after)
    assert api.get("/me", headers={"authorization": f"Bearer {token}"}).status_code == 401
    csrf = page.all("input", name="csrfmiddlewaretoken")[0].attributes["value"]
    for gone in (phone.pk, theirs.pk, "junk", "ses_%00"):
        assert here.post(f"{PATH}/{gone}/end", csrfmiddlewaretoken=csrf).status_code == 404
    assert {other.pk, theirs.pk} <= set(Session.objects.values_list("pk", flat=True))


def test_signing_out_everywhere_else_leaves_this_one(owner: User, stranger: User) -> None:
    here, away, theirs = Visitor(owner), Visitor(owner), Visitor(stranger)
    after = here.follow(here.send(here.open(PATH), f"{PATH}/end-others"))
    assert not after.all("form", action=f"{PATH}/end-others")
    assert away.client.get(PATH).status_code == 303
    theirs.open(PATH)


def test_the_browser_that_signs_in_is_the_one_that_is_listed(db: None, sign_in_page: Visitor) -> None:
    assert "Chrome, Android" in text(sign_in_page.open(PATH))


@pytest.fixture
def sign_in_page(db: None) -> Visitor:
    """A person who signed in through the page, with a phone."""
    visitor = Visitor(None, **{"user-agent": PHONE})
    asked = visitor.send(visitor.open("/sign-in"), "/sign-in", email="ann@example.com")
    code = Page(asked.content.decode())
    visitor.send(code, "/sign-in/code", code=code.all("code")[0].text)
    return visitor


def test_use_is_noted_once_an_hour(owner: User) -> None:
    now = timezone.now()
    session, token = sessions.start(owner, attribution=None, now=now)
    sessions.find(token, now=now + timedelta(minutes=59))
    session.refresh_from_db()
    assert session.seen_at == now
    sessions.find(token, now=now + timedelta(hours=2))
    session.refresh_from_db()
    assert session.seen_at == now + timedelta(hours=2)
