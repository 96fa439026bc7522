"""Operators change settings in the console, with effect at once: which ones, by whom, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, DjangoCaptureOnCommitCallbacks, Settings
from rest_framework.test import APIClient

from accounts import sessions
from accounts.models import User
from config.operator_settings.models import OperatorSetting, SettingChange
from config.operator_settings.registry import GROUPS, GUARDED, SETTINGS
from tests import operating
from tests.accounts.conftest import with_token

PAGE = "/admin/config/operatorsetting/"
HISTORY = "/admin/config/settingchange/"

pytestmark = pytest.mark.django_db

Step = Callable[..., str]


@pytest.fixture
def operator() -> User:
    return User.objects.create_superuser("operator@example.com")


@pytest.fixture
def console(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


@pytest.fixture
def act(console: Client, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks) -> Step:
    """`act("choose", "MAX_KEYS", value="2")` opens the page of the step and sends it. Returns the page after that."""

    def send(step: str, name: str, *, reason: str = "", **typed: Any) -> str:
        step = f"{step}-guarded" if SETTINGS[name].group in GUARDED else step
        with django_capture_on_commit_callbacks(execute=True):
            answer = operating.send(console, opened(console, step, name), reason=reason, **typed)
        assert answer.status_code == 200
        return unescape(answer.content.decode())

    return send


def opened(console: Client, step: str, name: str) -> Any:
    asking = console.get(f"{PAGE}{step}/?name={name}")
    assert asking.status_code == 200, asking
    return asking


def sign_up(api: APIClient, email: str) -> Any:
    requested = api.post("/auth/request", {"email": email}, format="json")
    assert requested.status_code == 202
    return api.post("/auth/verify", {"email": email, "code": requested.json()["devCode"]}, format="json")


def test_a_changed_limit_works_in_the_api_at_once(act: Step, settings: Settings) -> None:
    settings.MAX_KEYS = 2
    user = User.objects.create_user("ann@example.com")
    ann = with_token(sessions.start(user, attribution=None, now=timezone.now())[1])
    assert ann.post("/keys", {"name": "one"}, format="json").status_code == 200
    assert "Changed: MAX_KEYS" in act("choose", "MAX_KEYS", value="1")
    refused = ann.post("/keys", {"name": "two"}, format="json")
    assert (refused.status_code, refused.json()["message"][:34]) == (400, "keys: 1 of at most 1 live API keys")
    assert "Reset: MAX_KEYS" in act("reset", "MAX_KEYS")
    assert ann.post("/keys", {"name": "two"}, format="json").status_code == 200
    assert ann.post("/keys", {"name": "three"}, format="json").status_code == 400, "the environment's value again"


def test_closed_sign_ups_refuse_new_accounts_and_let_existing_ones_in(api: APIClient, act: Step) -> None:
    User.objects.create_user("ann@example.com")
    act("choose", "SIGN_UPS_OPEN", value="0")
    refused = sign_up(api, "new@example.com")
    assert refused.status_code == 401
    assert refused.json() == {
        "error": "UNAUTHORIZED",
        "message": "email: no new accounts are possible at the moment; people who have an account can sign in",
    }
    assert not User.objects.filter(email="new@example.com").exists()
    assert sign_up(api, "ann@example.com").status_code == 200
    act("choose", "SIGN_UPS_OPEN", value="1")
    assert sign_up(api, "new@example.com").status_code == 200


def test_only_the_right_code_tells_that_sign_ups_are_closed(api: APIClient, settings: Settings) -> None:
    """A person who cannot read the mailbox gets the same answers as always, for every address."""
    User.objects.create_user("ann@example.com")
    settings.SIGN_UPS_OPEN = False
    told = []
    for email in ("ann@example.com", "new@example.com"):
        asked = api.post("/auth/request", {"email": email}, format="json")
        wrong = f"{(int(asked.json()['devCode']) + 1) % 1_000_000:06d}"
        tried = api.post("/auth/verify", {"email": email, "code": wrong}, format="json")
        told.append((asked.status_code, set(asked.json()), tried.status_code, tried.json()))
    assert told[0] == told[1]


def test_what_is_kept_of_the_catalog_follows_at_once(api: APIClient, act: Step) -> None:
    assert api.get("/tiers").json()["trial"]["days"] == 7
    act("choose", "TRIAL_DAYS", value="30")
    answer = api.get("/tiers")
    assert answer.json()["trial"]["days"] == 30
    act("reset", "TRIAL_DAYS")
    assert api.get("/tiers", HTTP_IF_NONE_MATCH=answer["ETag"]).json()["trial"]["days"] == 7


def test_the_page_shows_each_setting_with_its_value_and_where_it_comes_from(
    console: Client, act: Step, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setenv("GRACE_DAYS", "5")
    settings.GRACE_DAYS = 5
    act("choose", "TRIAL_DAYS", value="30", reason="Christmas")
    groups = console.get(PAGE).context["groups"]
    assert list(groups) == GROUPS
    lines = {line.setting.name: line for group in groups.values() for line, _ in group}
    assert list(lines) == list(SETTINGS)
    told = {name: (lines[name].text, lines[name].source) for name in ("TRIAL_DAYS", "GRACE_DAYS", "KEPT_DAYS")}
    assert told == {
        "TRIAL_DAYS": ("30", "operator"),
        "GRACE_DAYS": ("5", "environment"),
        "KEPT_DAYS": ("14", "default"),
    }
    page = console.get(PAGE).content.decode()
    assert all(f">{name}</th>" in page for name in SETTINGS)
    assert "Christmas" in page


def test_the_page_costs_as_many_statements_however_much_was_changed(
    console: Client, act: Step, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(5):  # two for the session, one for the person
        console.get(PAGE)
    for name in ("TRIAL_DAYS", "GRACE_DAYS", "KEPT_DAYS"):
        act("choose", name, value="30")
    with django_assert_num_queries(5):  # two for the session, one for the person
        console.get(PAGE)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("MAX_KEYS", "0", "MAX_KEYS=0 must be at least 1"),
        ("MAX_KEYS", "", "MAX_KEYS='' must be a whole number"),
        ("MAX_TRIAL_TIER", "huge", "MAX_TRIAL_TIER='huge' must be one of tiny"),
        ("GUMROAD_PRODUCTS", "tiny", "GUMROAD_PRODUCTS: 'tiny' must look like name=value"),
        ("ENGINES_CONFIRMED", "n9n", "ENGINES_CONFIRMED names n9n; only these need it: claude-code, n8n"),
        ("SELLER_NAME", "a\0b", "Null characters are not allowed"),
        ("SELLER_NAME", "a" * 4001, "at most 4000 characters"),
    ],
)
def test_a_wrong_value_is_refused_beside_its_field(act: Step, name: str, value: str, problem: str) -> None:
    assert problem in act("choose", name, value=value)
    assert not OperatorSetting.objects.exists()
    assert not SettingChange.objects.exists()


@pytest.mark.parametrize("name", [name for name, setting in SETTINGS.items() if not setting.is_credential])
def test_the_form_of_each_setting_takes_the_value_that_it_shows(console: Client, act: Step, name: str) -> None:
    step = "choose-guarded" if SETTINGS[name].group in GUARDED else "choose"
    form = opened(console, step, name).context["form"]
    assert SETTINGS[name].help in form.fields["value"].help_text
    value = form["value"].value()
    assert f"Changed: {name}" in act("choose", name, value=value)
    assert OperatorSetting.objects.get().value == value


def test_lists_may_be_entered_line_by_line(act: Step) -> None:
    act("choose", "GUMROAD_BUY_URLS", value="tiny=https://shop.example/t\r\nsmall=https://shop.example/s\r\n")
    row = OperatorSetting.objects.get()
    assert row.value == "tiny=https://shop.example/t,small=https://shop.example/s"


def test_the_history_says_who_changed_what_and_why(console: Client, operator: User, act: Step) -> None:
    act("choose", "MAX_KEYS", value="9", reason="a big customer")
    act("choose", "GRACE_DAYS", value="4")
    change = SettingChange.objects.get(name="MAX_KEYS")
    assert (change.actor, change.before, change.after) == (f"operator:{operator.pk}", None, "9")
    page = console.get(f"{HISTORY}?name=MAX_KEYS").content.decode()
    assert "a big customer" in page
    assert console.get(f"{HISTORY}?name=MAX_KEYS").context["cl"].result_count == 1
    assert "operator@example.com" in page, "people, not their ids"
    assert "operator@example.com" in console.get(PAGE).content.decode().partition("Newest changes")[2]
    assert LogEntry.objects.filter(object_id="MAX_KEYS").get().change_message == "no value → 9: a big customer"


def test_nobody_writes_the_history_in_the_console(console: Client, act: Step) -> None:
    act("choose", "MAX_KEYS", value="9")
    page = f"{HISTORY}{SettingChange.objects.get().pk}/"
    assert console.get(f"{page}change/").status_code == 200
    assert console.post(f"{page}change/", {"actor": "x"}).status_code == 403
    assert console.post(f"{page}delete/", {"post": "yes"}).status_code == 403
    assert console.get(f"{HISTORY}add/").status_code == 403
    assert console.get(f"{PAGE}add/").status_code == 403
    assert console.post(f"{PAGE}MAX_KEYS/delete/", {"post": "yes"}).status_code == 403


def test_of_two_operators_at_once_the_second_is_told(console: Client) -> None:
    second = Client()
    second.force_login(User.objects.create_superuser("second@example.com"))
    theirs, ours = opened(second, "choose", "MAX_KEYS"), opened(console, "choose", "MAX_KEYS")
    operating.send(console, ours, reason="", value="9")
    told = unescape(operating.send(second, theirs, reason="", value="7").content.decode())
    assert "this has changed since you opened the page: value was 100, is 9" in told
    assert OperatorSetting.objects.get().value == "9"
    assert SettingChange.objects.count() == 1


def test_a_value_that_cannot_be_read_is_told_and_can_be_reset(console: Client, act: Step) -> None:
    OperatorSetting.objects.create(name="MAX_KEYS", value="soon")
    OperatorSetting.objects.create(name="FORMER_SETTING", value="1")
    page = unescape(console.get(PAGE).content.decode())
    assert "The operator's value is not used. MAX_KEYS='soon' must be a whole number" in page
    assert "Reset: MAX_KEYS" in act("reset", "MAX_KEYS")


def test_only_who_has_the_right_changes_settings() -> None:
    assert operating.staff().get(PAGE).status_code == 403
    reader = operating.staff("view_operatorsetting")
    page = reader.get(PAGE)
    assert page.status_code == 200
    assert "choose/?name=" not in page.content.decode()
    for step in ("choose", "reset"):
        assert reader.get(f"{PAGE}{step}/?name=MAX_KEYS").status_code == 403
    assert reader.get(f"{PAGE}MAX_KEYS/change/").status_code == 403
    writer = operating.staff("view_operatorsetting", "change_operatorsetting")
    assert writer.get(f"{PAGE}MAX_5FKEYS/change/", follow=True).context["step"].name == "choose"
    assert writer.get(f"{PAGE}FORMER_SETTING/change/").status_code == 404
