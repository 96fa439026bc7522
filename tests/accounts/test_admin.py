from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.apps import apps
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Permission
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import ApiKey, IdempotentReply, Session, SignInCode, User
from accounts.throttling import ADMIN_LOGIN
from tests import operating
from tests.accounts.conftest import new_key

PASSWORD = "a good long password"
OPERATOR = "op@example.com"
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
MODELS = ["user", "apikey", "session", "signincode", "wrongtry", "idempotentreply", "suspension"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator() -> User:
    return User.objects.create_superuser(OPERATOR, PASSWORD)


@pytest.fixture
def console(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


def _login(client: Client, email: str = OPERATOR, password: str = PASSWORD, **extra: Any) -> Any:
    return client.post("/admin/login/?next=/admin/", {"username": email, "password": password}, **extra)


def test_an_operator_gets_in_with_a_password(operator: User) -> None:
    client = Client()
    assert client.get("/admin/").status_code == 302
    assert _login(client, "OP@Example.com").status_code == 302
    assert client.get("/admin/").status_code == 200


def test_wrong_passwords_and_people_without_one_do_not_get_in(ann: APIClient, operator: User) -> None:
    for email, password in [
        (OPERATOR, "wrong"),
        ("ann@example.com", ""),
        ("ann@example.com", "!"),
        ("no address", "x"),
    ]:
        client = Client()
        assert _login(client, email, password).status_code == 200
        assert client.get("/admin/").status_code == 302


def test_neither_a_key_nor_a_code_session_opens_it(ann: APIClient) -> None:
    User.objects.update(is_staff=True, is_superuser=True)
    _, agent = new_key(ann)
    for client in (ann, agent):
        assert client.get("/admin/").status_code == 302


@pytest.mark.parametrize("to", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_a_login_leads_nowhere_else(operator: User, to: str) -> None:
    answer = Client().post(f"/admin/login/?next={to}", {"username": OPERATOR, "password": PASSWORD})
    assert (answer.status_code, answer["Location"]) == (302, "/admin/")


def test_login_tries_are_limited_by_address(operator: User) -> None:
    client = Client()
    for _ in range(ADMIN_LOGIN.times):
        assert _login(client, password="wrong").status_code == 200
    refused = _login(client)
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) > 0
    assert client.get("/admin/login/").status_code == 200
    assert _login(Client(), REMOTE_ADDR="192.0.2.1").status_code == 302


def test_an_address_has_thirty_login_tries_an_hour(operator: User) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        for _ in range(3):
            for _ in range(10):
                assert _login(Client(), password="wrong").status_code == 200
            clock.shift(600)
        assert _login(Client()).status_code == 429
        clock.shift(1800)
        assert _login(Client()).status_code == 302


@pytest.mark.sampled
@pytest.mark.unmeasured
@pytest.mark.parametrize("strangers", [3, 30, 300])
def test_wrong_logins_of_strangers_do_not_close_an_operators_account(operator: User, strangers: int) -> None:
    for number in range(strangers):
        for _ in range(10 if strangers == 3 else 1):
            _login(Client(), password="wrong", REMOTE_ADDR=f"198.51.{number // 200}.{number % 200}")
    assert _login(Client(), "Op@Example.com", REMOTE_ADDR="192.0.2.1").status_code == 302


def test_an_ipv6_network_is_one_address(operator: User) -> None:
    for number in range(ADMIN_LOGIN.times):
        _login(Client(), password="wrong", REMOTE_ADDR=f"2001:db8::{number:x}")
    assert _login(Client(), REMOTE_ADDR="2001:db8::ffff").status_code == 429
    assert _login(Client(), REMOTE_ADDR="2001:db8:0:1::1").status_code == 302


@pytest.mark.usefixtures("redis_away")
def test_login_works_and_is_limited_without_redis(operator: User) -> None:
    assert _login(Client()).status_code == 302
    tries = [_login(Client(), password="wrong").status_code for _ in range(ADMIN_LOGIN.times)]
    assert tries[-2:] == [200, 429]


@pytest.mark.parametrize("model", MODELS)
def test_every_list_has_a_page_with_search_and_filters(console: Client, ann: APIClient, model: str) -> None:
    key, agent = new_key(ann)
    agent.get("/me")
    for query in ("", "?q=ann", "?q=%27%22%3B", f"?q={key['prefix']}"):
        assert console.get(f"/admin/accounts/{model}/{query}").status_code == 200


def test_every_row_has_a_page_without_secrets(console: Client, ann: APIClient) -> None:
    ann.post("/keys", {"name": "agent"}, format="json")
    user = User.objects.get(email="ann@example.com")
    reply = IdempotentReply.objects.create(
        user=user,
        method="POST",
        path="/x",
        key="k",
        fingerprint="f" * 64,
        created_at=user.created_at,
        reserved_at=user.created_at,
        status=200,
        reply={"body": "SECRET-BODY", "headers": {}},
    )
    code, key, session = SignInCode.objects.get(), ApiKey.objects.get(), Session.objects.get()
    for row in (user, key, session, code, reply):
        page = console.get(f"/admin/accounts/{row._meta.model_name}/{quote(row.pk)}/change/")
        assert page.status_code == 200, row
        for secret in (key.digest, session.digest, code.digest, str(code.sealed), "SECRET-BODY"):
            assert secret not in page.content.decode()
    shown = console.get(f"/admin/accounts/user/{quote(user.pk)}/change/").content.decode()
    assert f"{key.prefix}…" in shown
    assert session.pk in shown


@pytest.mark.parametrize("model", MODELS)
def test_nothing_is_deleted(console: Client, ann: APIClient, model: str) -> None:
    new_key(ann)
    rows = apps.get_model("accounts", model)._default_manager.all()
    ids = {row.pk for row in rows}
    for key in ids:
        assert console.post(f"/admin/accounts/{model}/{key}/delete/", {"post": "yes"}).status_code == 403
    console.post(f"/admin/accounts/{model}/", {"action": "delete_selected", "_selected_action": [*ids], "post": "yes"})
    assert {row.pk for row in rows.all()} == ids


def test_an_account_is_not_closed_past_the_rule(console: Client, ann: APIClient) -> None:
    """Suspending also stops agents, so it is an action with a reason and not a tick box."""
    user = User.objects.get(email="ann@example.com")
    page = f"/admin/accounts/user/{quote(user.pk)}/change/"
    answer = console.post(page, operating.typed_in(console, page, without="is_active"))
    assert answer["Location"] == "/admin/accounts/user/"
    assert ann.get("/me").status_code == 200
    user.refresh_from_db()
    assert (user.email, user.is_active) == ("ann@example.com", True)


def test_a_new_operator_is_made_by_address_and_password(console: Client) -> None:
    body = {"email": "New@Example.com", "usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}
    answer = console.post("/admin/accounts/user/add/", body)
    assert answer.status_code == 302, answer.content.decode()[:3000]
    made = User.objects.get(email="new@example.com")
    assert made.check_password(PASSWORD)
    again = console.post("/admin/accounts/user/add/", {**body, "email": "NEW@example.COM"})
    assert "this address has an account" in again.content.decode()
    junk = console.post("/admin/accounts/user/add/", {**body, "email": "nonsense"})
    assert "must be an e-mail address" in junk.content.decode()


def test_an_operator_revokes_a_key(console: Client, ann: APIClient) -> None:
    _, agent = new_key(ann)
    asking = operating.choose(console, "/admin/accounts/apikey/", "revoke", ApiKey.objects.get())
    assert "ann@example.com" in asking.content.decode()
    assert agent.get("/me").status_code == 200
    operating.send(console, asking, reason="found on a public page")
    assert agent.get("/me").json()["message"] == "Invalid or revoked API key"


def test_staff_cannot_raise_their_rights_or_take_over_a_superuser(operator: User) -> None:
    staff = User.objects.create_user("staff@example.com", PASSWORD, is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(content_type__app_label__in=["accounts", "auth"]))
    client = Client()
    client.force_login(staff)
    page = f"/admin/accounts/user/{quote(staff.pk)}/change/"
    client.post(page, {**operating.typed_in(client, page), "is_superuser": "on"})
    staff.refresh_from_db()
    assert not staff.is_superuser
    password = {"password1": "another password", "password2": "another password", "usable_password": "true"}
    client.post(f"/admin/accounts/user/{quote(operator.pk)}/password/", password)
    operator.refresh_from_db()
    assert operator.check_password(PASSWORD)
    assert client.get("/admin/auth/group/add/").status_code == 403
    own = client.post(f"/admin/accounts/user/{quote(staff.pk)}/password/", password)
    assert own.status_code == 302
    staff.refresh_from_db()
    assert staff.check_password("another password")
