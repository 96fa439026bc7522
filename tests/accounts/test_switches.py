"""An operator closes and opens sign-ups and the creation of agents, with effect at once."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts import switches
from accounts.models import Switches, User
from tests.accounts.conftest import SignIn

LIST = "/admin/accounts/switches/"

pytestmark = pytest.mark.django_db


@pytest.fixture
def console() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("op@example.com"))
    return client


def switch(console: Client, **values: str) -> None:
    page = console.get(LIST)["Location"]
    answer = console.post(page, {"sign_ups": "unknown", "creates": "unknown", **values})
    assert answer.status_code == 302, answer.content


def sign_up(api: APIClient, email: str) -> Any:
    requested = api.post("/auth/request", {"email": email}, format="json")
    assert requested.status_code == 202
    return api.post("/auth/verify", {"email": email, "code": requested.json()["devCode"]}, format="json")


def test_closed_sign_ups_refuse_new_accounts_and_let_existing_ones_in(
    api: APIClient, console: Client, sign_in: SignIn
) -> None:
    sign_in("ann@example.com")
    switch(console, sign_ups="false")
    refused = sign_up(api, "new@example.com")
    assert refused.status_code == 401
    assert refused.json() == {
        "error": "UNAUTHORIZED",
        "message": "email: no new accounts are possible at the moment; people who have an account can sign in",
    }
    assert not User.objects.filter(email="new@example.com").exists()
    assert sign_in("ann@example.com").get("/me").status_code == 200
    switch(console, sign_ups="true")
    assert sign_up(api, "new@example.com").status_code == 200


def test_only_the_right_code_tells_that_sign_ups_are_closed(
    api: APIClient, settings: Settings, sign_in: SignIn
) -> None:
    """A person who cannot read the mailbox gets the same answers as always, for every address."""
    sign_in("ann@example.com")
    settings.SIGN_UPS_OPEN = False
    told = []
    for email in ("ann@example.com", "new@example.com"):
        asked = api.post("/auth/request", {"email": email}, format="json")
        wrong = f"{(int(asked.json()['devCode']) + 1) % 1_000_000:06d}"
        tried = api.post("/auth/verify", {"email": email, "code": wrong}, format="json")
        told.append((asked.status_code, set(asked.json()), tried.status_code, tried.json()))
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("environment", "row", "open_"),
    [
        (True, None, True),
        (False, None, False),
        (True, False, False),
        (False, True, True),
    ],
)
def test_the_admins_row_counts_before_the_environment(
    settings: Settings, environment: bool, row: bool | None, open_: bool
) -> None:
    settings.SIGN_UPS_OPEN = settings.CREATES_OPEN = environment
    Switches.objects.create(pk=switches.ONLY_ROW, sign_ups=row, creates=row)
    assert (switches.sign_ups_open(), switches.creates_open()) == (open_, open_)


def test_there_is_one_row_which_is_neither_added_nor_deleted(console: Client) -> None:
    page = console.get(LIST)["Location"]
    assert console.get(page).status_code == 200
    assert console.get(LIST)["Location"] == page
    assert console.get(f"{LIST}add/").status_code == 403
    assert console.post(page.replace("change", "delete"), {"post": "yes"}).status_code == 403
    assert Switches.objects.count() == 1


def test_only_who_has_the_right_switches() -> None:
    staff = User.objects.create_user("staff@example.com", "x", is_staff=True)
    client = Client()
    client.force_login(staff)
    assert client.get(LIST).status_code == 403
    staff.user_permissions.set(Permission.objects.filter(codename="view_switches"))
    page = client.get(LIST)["Location"]
    assert client.post(page, {"sign_ups": "false", "creates": "false"}).status_code == 403
    assert switches.sign_ups_open()
