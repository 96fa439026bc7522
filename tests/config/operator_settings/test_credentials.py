"""Owners set credentials of payment providers in the console. They hold at once, and nobody reads them again."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from html import unescape
from io import StringIO
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.admin.models import LogEntry
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connection
from django.test import Client
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from accounts.models import User
from config.audit.models import AuditEntry
from config.operator_settings import operator_settings
from config.operator_settings.models import OperatorSetting, SettingChange
from config.operator_settings.registry import SETTINGS, first_values
from config.operator_settings.values import values
from tests import operating

PAGE = "/admin/config/operatorsetting/"
CREDENTIALS = [name for name, setting in SETTINGS.items() if setting.is_credential]
KEY, SECRET = "sk_live_51HushHush", "whsec_HushHush"
RIGHT = {
    "STRIPE_SECRET_KEY": KEY,
    "STRIPE_WEBHOOK_SECRETS": f"{SECRET}, whsec_old",
    "LEMONSQUEEZY_API_KEY": "eyJ0eXAi.hush.hush",
    "LEMONSQUEEZY_WEBHOOK_SECRET": "hush-hush",
    "STARS_BOT_TOKEN": "123456:AAE-hush_hush",
    "STARS_WEBHOOK_SECRET": "hush_hush-1",
    "CRYPTO_RPC_URLS": "https://node.example/v2/hush,https://other.example/hush",
    "CRYPTO_OTHER_RPC_URLS": "1=https://node.example/v2/hush,137=https://other.example/hush",
}

pytestmark = pytest.mark.django_db

Step = Callable[..., str]


@pytest.fixture
def console() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("owner@example.com"))
    return client


@pytest.fixture
def act(console: Client, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks) -> Step:
    """`act("set-credential", "STRIPE_SECRET_KEY", secret="sk_live_…")` sends the page. Returns the page after that."""

    def send(step: str, name: str, *, reason: str = "", **typed: Any) -> str:
        asking = console.get(f"{PAGE}{step}/?name={name}")
        assert asking.status_code == 200, asking
        with django_capture_on_commit_callbacks(execute=True):
            answer = operating.send(console, asking, reason=reason, **typed)
        return unescape(answer.content.decode())

    return send


def test_each_provider_has_its_credentials_here() -> None:
    assert set(RIGHT) == set(CREDENTIALS)


@pytest.mark.parametrize("name", RIGHT)
def test_a_credential_holds_at_once_and_until_it_is_removed(act: Step, name: str) -> None:
    before = getattr(operator_settings, name)
    assert f"Set: {name}" in act("set-credential", name, secret=RIGHT[name])
    assert getattr(operator_settings, name) == SETTINGS[name].read(RIGHT[name])
    assert f"Removed: {name}" in act("remove-credential", name)
    assert getattr(operator_settings, name) == before
    assert list(SettingChange.objects.order_by("id").values_list("before", "after")) == [(None, "set"), ("set", None)]


def test_cards_are_sold_once_key_and_secret_are_set(api: Any, act: Step, settings: Settings) -> None:
    settings.STRIPE_SECRET_KEY, settings.STRIPE_WEBHOOK_SECRETS = "", []

    def offered() -> bool:
        ways = api.get("/payment-providers").json()["paymentProviders"]
        (stripe,) = [one for one in ways if one["id"] == "stripe"]
        return bool(stripe["status"] == "active")

    assert not offered()
    act("set-credential", "STRIPE_SECRET_KEY", secret=KEY)
    assert not offered()
    act("set-credential", "STRIPE_WEBHOOK_SECRETS", secret=SECRET)
    assert offered()
    act("remove-credential", "STRIPE_SECRET_KEY")
    assert not offered()


def test_nobody_reads_a_credential_again(console: Client, act: Step, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    pages = [
        act("set-credential", "STRIPE_SECRET_KEY", secret=KEY, reason="a new account"),
        act("set-credential", "STRIPE_WEBHOOK_SECRETS", secret=f"{SECRET},nonsense"),  # refused, and not shown again
        console.get(f"{PAGE}set-credential/?name=STRIPE_SECRET_KEY").content.decode(),
        console.get(f"{PAGE}remove-credential/?name=STRIPE_SECRET_KEY").content.decode(),
        console.get(PAGE).content.decode(),
        console.get("/admin/config/settingchange/").content.decode(),
        console.get("/admin/config/auditentry/").content.decode(),
        str(list(AuditEntry.objects.values())),
        str(list(LogEntry.objects.values())),
        str(list(SettingChange.objects.values())),
        caplog.text,
    ]
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, value, sealed FROM config_operatorsetting")
        pages.append(str(cursor.fetchall()))
    for page in pages:
        assert KEY not in page
        assert SECRET not in page
    entry = AuditEntry.objects.get(verb="Set a credential")
    assert (entry.object_id, entry.who) == ("STRIPE_SECRET_KEY", "owner@example.com")
    assert "a new account" in entry.reason
    assert "STRIPE_WEBHOOK_SECRETS: each secret must begin with whsec_" in pages[1]


@pytest.mark.parametrize(
    ("name", "secret", "problem"),
    [
        ("STRIPE_SECRET_KEY", "pk_live_hush", "STRIPE_SECRET_KEY: must begin with sk_ or rk_"),
        ("STRIPE_SECRET_KEY", "sk_live hush", "STRIPE_SECRET_KEY must be visible ASCII characters without spaces"),
        ("STRIPE_SECRET_KEY", "sk_live_hüsh", "STRIPE_SECRET_KEY must be visible ASCII characters without spaces"),
        ("STRIPE_SECRET_KEY", "", "This field is required"),
        ("STRIPE_SECRET_KEY", "sk_" + "h" * 4000, "at most 4000 characters"),
        ("STRIPE_WEBHOOK_SECRETS", ",", "STRIPE_WEBHOOK_SECRETS must not be empty; remove it instead"),
        ("STARS_BOT_TOKEN", "AAE-hush", "STARS_BOT_TOKEN: must look like 123456:AAE…"),
        ("STARS_WEBHOOK_SECRET", "h" * 257, "STARS_WEBHOOK_SECRET: must have 1 to 256 of"),
        ("CRYPTO_RPC_URLS", "https://a.example,ftp://hush", "CRYPTO_RPC_URLS: each must be an address with"),
        ("CRYPTO_RPC_URLS", "https://:443/v2/hush", "CRYPTO_RPC_URLS: each must be an address with"),
        ("CRYPTO_RPC_URLS", "https://a.example:99999/hush", "CRYPTO_RPC_URLS: each must be an address with"),
        ("CRYPTO_OTHER_RPC_URLS", "eth=https://hush", "CRYPTO_OTHER_RPC_URLS: must name chains by their numbers"),
        ("CRYPTO_OTHER_RPC_URLS", "1=hush", "CRYPTO_OTHER_RPC_URLS: each must be an address with"),
        ("CRYPTO_OTHER_RPC_URLS", "1=https://a,1=https://hush", "CRYPTO_OTHER_RPC_URLS: names a chain twice"),
        ("CRYPTO_OTHER_RPC_URLS", f"{'1' * 3000}=https://hush", "must name chains by their numbers"),
    ],
)
def test_a_wrong_credential_is_refused_in_words_that_do_not_repeat_it(
    act: Step, name: str, secret: str, problem: str
) -> None:
    page = act("set-credential", name, secret=secret)
    assert problem in page
    assert len(secret) < 4 or secret not in page
    assert not OperatorSetting.objects.exists()
    assert not SettingChange.objects.exists()


def test_only_who_has_the_right_of_its_own_sets_credentials() -> None:
    operator = operating.staff("view_operatorsetting", "change_operatorsetting")
    page = operator.get(PAGE).content.decode()
    assert "choose/?name=MAX_KEYS" in page
    assert not re.search(r"(credential|guarded)/\?name=", page)
    for step in ("set-credential", "remove-credential", "choose-guarded", "reset-guarded"):
        assert operator.get(f"{PAGE}{step}/?name=STRIPE_SECRET_KEY").status_code == 403
        assert operator.post(f"{PAGE}{step}/?name=STRIPE_SECRET_KEY", {"secret": KEY}).status_code == 403
    assert operator.get(f"{PAGE}STRIPE_5FSECRET_5FKEY/change/").status_code == 403
    asked = operator.get(f"{PAGE}choose/?name=STRIPE_SECRET_KEY", follow=True)
    assert "There is nothing left to do." in asked.content.decode(), "the step of settings knows no credential"
    owner = operating.staff("view_operatorsetting", "change_guarded")
    assert owner.get(f"{PAGE}STRIPE_5FSECRET_5FKEY/change/", follow=True).context["step"].name == "set_credential"
    asked = owner.get(f"{PAGE}set-credential/?name=MAX_KEYS", follow=True)
    assert "There is nothing left to do." in asked.content.decode(), "and this one knows nothing else"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GUMROAD_BUY_URL", "https://evil.example/l/mine"),
        ("GUMROAD_TEST_PURCHASES", "1"),
        ("LEMONSQUEEZY_STORE", "666"),
        ("STARS_BOT_USERNAME", "evil_bot"),
        ("STAR_USD", "5"),
        ("SECOND_FACTOR", "optional"),
    ],
)
def test_who_gets_the_money_and_who_needs_a_second_factor_takes_that_right_too(name: str, value: str) -> None:
    operator = operating.staff("view_operatorsetting", "change_operatorsetting")
    asked = operator.get(f"{PAGE}choose/?name={name}", follow=True)
    assert "There is nothing left to do." in asked.content.decode()
    assert operator.post(f"{PAGE}choose-guarded/?name={name}", {"value": value}).status_code == 403
    assert not OperatorSetting.objects.exists()
    owner = operating.staff("view_operatorsetting", "change_guarded")
    operating.send(owner, owner.get(f"{PAGE}choose-guarded/?name={name}"), reason="", value=value)
    assert OperatorSetting.objects.get().value == value


@pytest.mark.parametrize("reason", [f"it is {KEY}", "now sk_live_another_one_of_ours"])
def test_a_reason_that_holds_the_secret_is_refused_because_it_could_not_be_removed(act: Step, reason: str) -> None:
    assert "This looks like the secret itself" in act("set-credential", "STRIPE_SECRET_KEY", secret=KEY, reason=reason)
    assert not SettingChange.objects.exists()


def test_production_refuses_a_key_of_the_test_mode(act: Step, settings: Settings) -> None:
    settings.DEVELOPMENT = False
    assert "of the test mode" in act("set-credential", "STRIPE_SECRET_KEY", secret="sk_test_hush")
    assert not OperatorSetting.objects.exists()


def test_the_owner_is_told_what_is_missing_beside(act: Step, settings: Settings) -> None:
    settings.STRIPE_WEBHOOK_SECRETS = []
    assert "Not set yet: STRIPE_WEBHOOK_SECRETS." in act("set-credential", "STRIPE_SECRET_KEY", secret=KEY)
    assert "Not set yet" not in act("set-credential", "STRIPE_WEBHOOK_SECRETS", secret=SECRET)


def test_the_secret_of_the_environment_is_not_shown_either(
    console: Client, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setenv("STRIPE_SECRET_KEY", KEY)
    settings.STRIPE_SECRET_KEY = KEY
    page = console.get(PAGE)
    lines = {line.setting.name: line for group in page.context["groups"].values() for line, _ in group}
    assert (lines["STRIPE_SECRET_KEY"].text, lines["STRIPE_SECRET_KEY"].source) == ("set", "environment")
    assert lines["LEMONSQUEEZY_API_KEY"].text == ""
    assert KEY not in page.content.decode()


def test_credentials_of_the_environment_may_lie_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n", encoding="utf-8")
    monkeypatch.setenv("STRIPE_SECRET_KEY_FILE", str(tmp_path / "key"))
    assert first_values()["STRIPE_SECRET_KEY"] == KEY
    monkeypatch.setenv("CRYPTO_OTHER_RPC_URLS", "eth=https://hush.example")
    with pytest.raises(ImproperlyConfigured, match="must name chains by their numbers") as told:
        first_values()
    assert "hush" not in str(told.value)


def test_a_credential_moves_to_the_newest_encryption_key(act: Step, settings: Settings) -> None:
    old, new = settings.SECRETS_KEYS[0], Fernet.generate_key().decode()
    act("set-credential", "STRIPE_SECRET_KEY", secret=KEY)
    settings.SECRETS_KEYS = [new, old]
    call_command("rotate_secrets", stdout=StringIO())
    settings.SECRETS_KEYS = [new]
    values.look()
    assert operator_settings.STRIPE_SECRET_KEY == KEY


def test_without_its_encryption_key_the_environments_holds_and_the_page_says_so(
    console: Client, act: Step, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.STRIPE_SECRET_KEY = "sk_live_of_the_environment"
    act("set-credential", "STRIPE_SECRET_KEY", secret=KEY)
    settings.SECRETS_KEYS = [Fernet.generate_key().decode()]
    for _ in range(3):
        values.look()
    assert operator_settings.STRIPE_SECRET_KEY == "sk_live_of_the_environment"
    assert caplog.text.count("STRIPE_SECRET_KEY cannot be decrypted: its encryption key is lost; set it again") == 1
    assert "STRIPE_SECRET_KEY cannot be decrypted" in console.get(PAGE).content.decode()
    act("set-credential", "STRIPE_SECRET_KEY", secret=KEY)
    assert operator_settings.STRIPE_SECRET_KEY == KEY


def test_of_two_owners_at_once_the_second_is_told(console: Client) -> None:
    second = Client()
    second.force_login(User.objects.create_superuser("second@example.com"))
    page = f"{PAGE}set-credential/?name=STRIPE_SECRET_KEY"
    theirs, ours = second.get(page), console.get(page)
    operating.send(console, ours, reason="", secret=KEY)
    told = unescape(operating.send(second, theirs, reason="", secret="sk_live_other").content.decode())
    assert "this has changed since you opened the page" in told
    assert SettingChange.objects.count() == 1
