"""An operator sees a person's pages as the person does: read-only, without secrets, fifteen minutes, recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
import time_machine
from django.conf import settings
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import keys, roles, sessions
from accounts.helping import looks
from accounts.models import ApiKey, Session, StaffLook, User
from agents.models import Agent
from config.audit.models import AuditEntry
from tests import operating
from tests.agents.conftest import MakeAgent, settle
from tests.pages.account.visitor import fields, shown
from webhooks.models import Hook

USERS = "/admin/accounts/user/"
BANNER = "You see the account of <strong>owner@example.com</strong>"
SECRETS = ("sk-very-secret", "1:hush", "mcp-hush", "peer-hush", "hook-hush", "whsec-hush", "query-hush")
# The pages of a person that an operator sees, by the end of their route.
OPEN = {
    *("account", "account/sessions", "account/personas", "account/personas/<str:id>", "account/data", "account/mails"),
    "account/limits",
    *("account/personas/<str:id>/preview", "account/payments", "account/payments/<str:id>", "account/invoices"),
    *("account/", "account/<path:rest>", "renew/<str:id>", "renew/<str:id>/progress", "renew/<path:rest>"),
    *("sign-in/", "sign-in/<path:rest>", "account/agents/<str:id>"),
    *(
        f"account/agents/<str:id>/{page}"
        for page in (
            *("model-key", "settings", "plan", "channels", "tools", "domain", "webhook", "mcp", "a2a", "backups"),
            *("log", "events", "usage", "limits"),
        )
    ),
}


@pytest.fixture
def operator(db: None) -> User:
    roles.bring_up_to_date()
    user = User.objects.create_user("support@example.com", is_staff=True)
    user.groups.add(Group.objects.get(name="support"))
    return user


@pytest.fixture
def console(operator: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(operator)
    return client


@pytest.fixture
def agent(make_agent: MakeAgent) -> Agent:
    """An agent with a secret in each place that can have one."""
    one = settle(make_agent(llm_provider="openai", llm_key=SECRETS[0], channel_secrets={"telegramToken": SECRETS[1]}))
    one.mcp_servers = [{"name": "own", "url": "https://mcp.example.com/?k=query-hush", "headers": {"Key": SECRETS[2]}}]
    one.a2a_peers = [{"name": "peer", "url": "https://a.example.com/?k=query-hush", "token": SECRETS[3]}]
    one.a2a_enabled, one.a2a_token, one.domain = True, "a2a-hush", "own.example.com"
    one.save()
    url = "https://hooks.example.com/in?token=hook-hush"
    Hook.objects.create(agent=one, url=url, authority="hooks.example.com", secret=SECRETS[5], created_at=timezone.now())
    return one


def begin(console: Client, person: User, *, reason: str = "ticket 7") -> Any:
    """Open the person's page in the console, press the button, and confirm."""
    address = f"{USERS}see-as-person/?id={person.pk}&back={USERS}{person.pk.replace('_', '_5F')}/change/"
    return operating.send(console, console.get(address), reason=reason, follow=False)


def look(console: Client, owner: User) -> StaffLook:
    answer = begin(console, owner)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/account")
    return StaffLook.objects.get(user=owner, ended_at=None)


def end(console: Client, page: Any) -> Any:
    form = page.one("form", action="/account/look/end", method="post")
    sent = urlencode(fields(page, form))
    return console.post("/account/look/end", sent, content_type="application/x-www-form-urlencoded")


def routes() -> dict[str, Any]:
    """The routes of the account pages, and which methods each answers."""
    found = {}
    for one in get_resolver("pages.account.urls").url_patterns:
        found[str(one.pattern)] = one.callback.actions  # type: ignore[union-attr]
    return found


def address_of(route: str, agent: Agent) -> str:
    whole = route.replace("<str:id>", agent.pk).replace("<str:delivery>", "evt_0").replace("<path:rest>", "nothing")
    return f"/{whole.replace('<str:name>', '20260101-000000-000000').replace('<str:slug>', 'note')}"


def test_an_operator_sees_what_the_person_sees_and_who_it_is_about(console: Client, owner: User, agent: Agent) -> None:
    look(console, owner)
    page = console.get("/account").content.decode()
    assert BANNER in page
    assert agent.name in page
    assert f"{BANNER}" in console.get(f"/account/agents/{agent.pk}").content.decode()


def test_every_page_is_open_or_closed_on_purpose_and_none_has_a_secret_or_changes_anything(
    console: Client, owner: User, agent: Agent
) -> None:
    """Tried at every address: what is open only reads, what is closed says so, and nothing at all can be sent."""
    key = keys.create(owner, name="laptop", now=timezone.now())[0]
    session = sessions.start(owner, attribution=None, now=timezone.now() - timedelta(hours=5))[0]
    row = look(console, owner)
    before = (ApiKey.objects.count(), Session.objects.count(), AuditEntry.objects.count())
    for route, methods in routes().items():
        address = address_of(route, agent)
        if "get" in methods:
            StaffLook.objects.update(places=[])  # this test looks at more pages than a look may
            with CaptureQueriesContext(connection) as asked:
                answer = console.get(address)
            page = answer.content.decode()
            is_closed = answer.status_code == 403 and "This page is closed while you look" in page
            assert is_closed == (route not in OPEN), (route, answer.status_code)
            assert answer.status_code in {403, 404, 303, 200}, (route, answer.status_code)
            assert not [one for one in (*SECRETS, "a2a-hush") if one in page], route
            written = [one["sql"] for one in asked if one["sql"].startswith(("INSERT", "UPDATE", "DELETE"))]
            assert all("accounts_stafflook" in sql for sql in written), (route, written)
        if route != "account/look/end":
            refused = console.post(address, {"name": "x", "lang": "es"})
            assert refused.status_code == 403, route
            assert "can change nothing" in refused.content.decode(), route
    assert (ApiKey.objects.count(), Session.objects.count(), AuditEntry.objects.count()) == before
    assert [one.last_used_at or one.revoked_at for one in ApiKey.objects.filter(pk=key.pk)] == [None]
    assert Session.objects.get(pk=session.pk).seen_at == session.seen_at
    assert StaffLook.objects.get(pk=row.pk).ended_at is None


def test_no_dns_is_asked_for_the_look(console: Client, owner: User, agent: Agent) -> None:
    look(console, owner)
    assert console.get(f"/account/agents/{agent.pk}/domain?look=now").status_code == 200


def test_the_start_the_pages_and_the_end_are_in_the_audit_log_and_the_person_sees_the_time(
    console: Client, operator: User, owner: User, agent: Agent
) -> None:
    row = look(console, owner)
    console.get(f"/account/agents/{agent.pk}")
    page = shown(console.get("/account/payments?lang=es&a=b", follow=True))
    answer = end(console, page)
    assert answer.status_code == 303
    assert console.get(answer.headers["Location"]).status_code == 200
    assert console.cookies[settings.LOOK_COOKIE_NAME].value == ""
    begun, ended = AuditEntry.objects.filter(object_id=owner.pk).order_by("pk")
    assert (begun.verb, begun.who, begun.reason) == ("See as they see", operator.email, "ticket 7")
    assert (ended.verb, ended.who, ended.who_id) == ("Stopped seeing as they see", operator.email, operator.pk)
    assert ended.address == "127.0.0.1"
    places = [place for _, _, place in ended.changes]
    assert places == [f"/account/agents/{agent.pk}", "/account/payments"]
    row.refresh_from_db()
    assert (row.reason, row.console) == ("ticket 7", "")
    person = Client()
    person.cookies[settings.ACCOUNT_COOKIE_NAME] = sessions.start(owner, attribution=None, now=timezone.now())[1]
    told = person.get("/account/sessions").content.decode()
    assert "Seen by our support" in told
    assert operator.email not in told
    assert "ticket 7" not in told


def test_a_look_ends_with_its_time_and_the_operators_own_account_is_not_shown_in_its_place(
    console: Client, operator: User, owner: User
) -> None:
    console.cookies[settings.ACCOUNT_COOKIE_NAME] = sessions.start(operator, attribution=None, now=timezone.now())[1]
    row = look(console, owner)
    with time_machine.travel(datetime.now(UTC) + timedelta(minutes=15, seconds=1), tick=False):
        answer = console.get("/account")
        assert (answer.status_code, "has ended" in answer.content.decode()) == (403, True)
        assert operator.email not in answer.content.decode()
        assert console.post("/account/sessions/end-others").status_code == 403
        assert looks.end_over(now=timezone.now()) == 1
        assert looks.end_over(now=timezone.now()) == 0
        assert end(console, shown(answer, status=403)).status_code == 303
        assert BANNER not in console.get("/account").content.decode()
    assert AuditEntry.objects.get(verb="Stopped seeing as they see").reason.startswith("the time was over")
    row.refresh_from_db()
    assert row.ended_at == row.ends_at


@pytest.mark.parametrize("lost", ["sign-out", "session", "right", "staff", "another", "pages"])
def test_a_look_ends_with_what_it_rests_on(console: Client, operator: User, owner: User, lost: str) -> None:
    row = look(console, owner)
    assert console.get("/account").status_code == 200
    match lost:
        case "sign-out":
            console.post("/admin/logout/")
            console.cookies[settings.LOOK_COOKIE_NAME] = "kept"  # the token is another now, as after any end
        case "session":
            console.session.delete()
        case "right":
            operator.groups.clear()
        case "staff":
            User.objects.filter(pk=owner.pk).update(is_staff=True)
        case "another":
            other = Client()
            other.force_login(operator)
            look(other, User.objects.create_user("third@example.com"))
        case "pages":
            StaffLook.objects.update(places=[f"/account/{number}" for number in range(looks.MOST_PLACES)])
    answer = console.get("/account")
    assert (answer.status_code, BANNER in answer.content.decode()) == (403, False)
    if lost in {"sign-out", "another"}:
        row.refresh_from_db()
        assert row.ended_at is not None


def test_the_token_opens_neither_the_api_nor_another_browser(console: Client, owner: User) -> None:
    look(console, owner)
    token = console.cookies[settings.LOOK_COOKIE_NAME].value
    api = APIClient(headers={"Authorization": f"Bearer {token}"}, raise_request_exception=False)
    assert api.get("/me").status_code == 401
    assert console.get("/me").status_code == 401
    stranger = Client()
    stranger.cookies[settings.ACCOUNT_COOKIE_NAME] = token
    assert stranger.get("/account").status_code == 303
    assert console.cookies[settings.LOOK_COOKIE_NAME]["httponly"]
    assert console.cookies[settings.LOOK_COOKIE_NAME]["samesite"] == "Strict"
    assert token not in str(list(StaffLook.objects.values()))


def test_nobody_looks_at_an_operators_account(console: Client, owner: User) -> None:
    asking = console.get(f"{USERS}see-as-person/?id={owner.pk}")
    User.objects.filter(pk=owner.pk).update(is_staff=True)
    again = console.get(f"{USERS}see-as-person/?id={owner.pk}", follow=True)
    assert "nothing left to do" in again.content.decode()
    answer = operating.send(console, asking)
    assert "nothing left to do" in answer.content.decode()
    assert not StaffLook.objects.exists()


def test_a_page_sent_twice_begins_one_look(console: Client, owner: User) -> None:
    asking = console.get(f"{USERS}see-as-person/?id={owner.pk}")
    operating.send(console, asking, follow=False)
    token = console.cookies[settings.LOOK_COOKIE_NAME].value
    console.get(USERS)  # shows the message of the first time
    assert "sent before" in operating.send(console, asking).content.decode()
    assert (StaffLook.objects.count(), console.cookies[settings.LOOK_COOKIE_NAME].value) == (1, token)


@pytest.mark.parametrize("reason", ["", "\u200b\u2060", "x" * 1_000_000, "nul \0"])
def test_nobody_looks_without_a_reason(console: Client, owner: User, reason: str) -> None:
    answer = begin(console, owner, reason=reason)
    assert answer.context["form"].errors["reason"]
    assert not StaffLook.objects.exists()


def test_the_cookie_goes_to_no_pod() -> None:
    from agents.router.headers import console_cookies

    assert settings.LOOK_COOKIE_NAME in console_cookies()
