"""Operators who sign in with an OpenID Connect provider: who gets in, with which roles, and which lies are seen."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
import requests
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from accounts import roles, throttling
from accounts.checks import provider_is_whole
from accounts.console_models import ConsoleSession, ProviderIdentity
from accounts.models import User
from config.audit.models import AuditEntry
from tests.accounts.factors.people import CONFIRM, is_in, log_in, operator, said, with_app
from tests.doubles import oidc_provider
from tests.doubles.oidc_provider import OidcProvider
from tests.operating import choose_setting

START, BACK = "/admin/login/provider/", "/admin/login/provider/back/"
USERS = "/admin/accounts/user/"
LIES = (
    *("nonce", "audience", "two audiences", "party", "issuer", "expired", "of tomorrow", "expires in words"),
    *("no subject", "alg none", "public key as secret", "another key", "changed", "endless", "redirect"),
    "described as another",
)

pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]


@pytest.fixture(scope="module")
def running() -> Iterator[OidcProvider]:
    with OidcProvider() as double:
        yield double


@pytest.fixture
def provider(running: OidcProvider, settings: Settings) -> OidcProvider:
    running.person = {"sub": "u1", "email": "ann@example.com", "email_verified": True, "groups": ["ops", "all"]}
    running.lies, running.userinfo = "", None
    settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID = running.issuer, oidc_provider.CLIENT
    settings.OIDC_CLIENT_SECRET = oidc_provider.SECRET
    settings.OIDC_ROLES = {"ops": "operator", "money": "finance", "boss": "owner", "odd": "superuser"}
    roles.bring_up_to_date()
    return running


def there(browser: Client, query: str = "") -> str:
    """Click the button, and let the person sign in at the provider. Returns where the provider sends the browser."""
    answer = browser.get(START + query)
    assert answer.status_code == 302, said(answer)
    place = requests.get(answer["Location"], allow_redirects=False, timeout=10).headers["Location"]
    parts = urlsplit(place)
    assert parts.path == BACK
    return f"{parts.path}?{parts.query}"


def sign_in(query: str = "") -> Client:
    browser = Client()
    browser.get(there(browser, query))
    return browser


def refused(browser: Client) -> str:
    """The reason in the audit log. The browser is not in, and its page says only that it was refused."""
    assert not is_in(browser)
    assert "provider" in said(browser.get("/admin/login/"))
    return AuditEntry.objects.filter(verb="Sign-in failed")[0].reason


def test_without_settings_there_is_no_such_sign_in() -> None:
    assert Client().get(START).status_code == Client().get(BACK).status_code == 404
    assert START not in said(Client().get("/admin/login/"))


def test_somebody_whose_group_has_a_role_gets_in_with_it(provider: OidcProvider) -> None:
    assert f"{START}?next=/admin/" in said(Client().get("/admin/login/?next=/admin/"))
    browser = Client()
    answer = browser.get(there(browser, "?next=/admin/agents/agent/"))
    assert (answer.status_code, answer["Location"]) == (302, "/admin/agents/agent/")
    assert is_in(browser, USERS)
    ann = User.objects.get()
    assert (ann.email, ann.is_staff, ann.is_superuser, ann.has_usable_password()) == (
        "ann@example.com",
        True,
        False,
        False,
    )
    assert [group.name for group in ann.groups.all()] == ["operator"]
    assert AuditEntry.objects.filter(verb__in=["Identified by the provider", "Signed in"], who=ann.email).count() == 2


def test_roles_follow_the_groups_at_each_sign_in(provider: OidcProvider) -> None:
    provider.person["groups"] = ["boss", "odd"]
    first = sign_in()
    ann = User.objects.get()
    assert ([group.name for group in ann.groups.all()], ann.is_superuser) == (["owner"], False)
    ann.groups.add(Group.objects.create(name="night shift"))
    provider.person["groups"] = "money"
    assert is_in(sign_in(), "/admin/billing/payment/")
    assert {group.name for group in ann.groups.all()} == {"finance", "night shift"}
    assert AuditEntry.objects.filter(verb="Roles changed by the provider")[0].changes == [
        ["groups", "night shift, owner", "finance, night shift"]
    ]
    provider.person["groups"] = []
    assert refused(sign_in()) == "no group of the person has a role any more"
    ann.refresh_from_db()
    assert (ann.is_staff, [group.name for group in ann.groups.all()]) == (False, ["night shift"])
    assert not is_in(first), "other sessions end too"


def test_an_operator_of_ours_keeps_the_roles_that_owners_gave(provider: OidcProvider) -> None:
    operator("support", "ann@example.com")
    provider.person["groups"] = []
    assert is_in(sign_in(), USERS)
    assert [group.name for group in User.objects.get().groups.all()] == ["support"]


@pytest.mark.parametrize(
    "told", [{"email_verified": False}, {"email_verified": "perhaps"}, {"email": ["ann@example.com"]}, {"email": "ann"}]
)
def test_an_operators_address_that_is_not_verified_opens_nothing(
    provider: OidcProvider, told: dict[str, object]
) -> None:
    operator("support", "ann@example.com")
    provider.person |= told
    refused(sign_in())
    assert not ProviderIdentity.objects.exists()


@pytest.mark.parametrize("who", ["stranger", "customer", "suspended", "another subject"])
def test_who_is_no_operator_stays_out(provider: OidcProvider, who: str) -> None:
    if who != "stranger":
        ann = operator("support", "ann@example.com")
        User.objects.update(is_staff=who != "customer", is_active=who != "suspended")
        if who == "another subject":
            ProviderIdentity.objects.create(user=ann, issuer=provider.issuer, subject="u0", created_at=timezone.now())
    if who in {"stranger", "customer"}:
        provider.person["groups"] = ["all"]
    people = User.objects.count()
    refused(sign_in())
    assert User.objects.count() == people


def test_the_subject_finds_the_person_whatever_the_address_is_now(provider: OidcProvider) -> None:
    sign_in()
    provider.person |= {"email": "owner@example.com", "email_verified": False}
    operator("owner", "owner@example.com")
    browser = sign_in()
    assert is_in(browser, USERS)
    assert ConsoleSession.objects.latest("created_at").user.email == "ann@example.com"


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_seen(provider: OidcProvider, lie: str) -> None:
    browser = Client()
    if lie == "described as another":
        provider.lies = lie
        browser.get(START)
    else:
        place = there(browser)
        provider.lies = lie
        browser.get(place)
    assert not is_in(browser)
    assert "OIDC" not in said(browser.get("/admin/login/"))
    assert not User.objects.exists()


def test_only_the_browser_that_began_comes_back_and_only_once(provider: OidcProvider) -> None:
    browser = Client()
    place = there(browser)
    stranger = Client()
    stranger.get(place)
    assert refused(stranger) == "no sign-in was begun in this browser"
    browser.get(place)
    assert is_in(browser)
    other = Client()
    there(other)
    other.get(place)
    assert refused(other) == "another state"
    late = Client()
    answer = late.get(f"{there(late).partition('?')[0]}?error=access_denied&state=x")
    assert answer["Location"] == "/admin/login/"
    assert not is_in(late)


def test_the_provider_asks_for_the_second_factor_or_we_do(provider: OidcProvider, settings: Settings) -> None:
    choose_setting("SECOND_FACTOR", "required")
    assert sign_in().get(USERS)["Location"] == "/admin/my-sign-in/"
    provider.person["amr"] = ["pwd", "mfa"]
    assert is_in(sign_in())
    del provider.person["amr"]
    settings.OIDC_SECOND_FACTOR = True
    assert is_in(sign_in())
    settings.OIDC_SECOND_FACTOR = False
    with_app(User.objects.get())
    assert sign_in().get(USERS)["Location"].startswith(CONFIRM)


def test_without_a_password_one_signs_in_at_the_provider_again(provider: OidcProvider) -> None:
    browser = sign_in()
    ConsoleSession.objects.update(confirmed_at=timezone.now() - timedelta(minutes=30))
    page = browser.get("/admin/my-sign-in/app/")
    assert page["Location"] == f"{CONFIRM}?next=/admin/my-sign-in/app/"
    assert 'type="password"' not in said(browser.get(page["Location"]))
    place = there(browser, "?next=/admin/my-sign-in/app/")
    assert list(provider.asked.values())[-1]["prompt"] == "login"
    provider.lies = "not asked again"
    browser.get(place)
    assert browser.get("/admin/my-sign-in/app/").status_code == 302
    provider.lies = ""
    assert browser.get(there(browser, "?next=/admin/my-sign-in/app/"))["Location"] == "/admin/my-sign-in/app/"
    assert browser.get("/admin/my-sign-in/app/").status_code == 200


def test_claims_of_userinfo_count_if_they_are_of_the_same_person(provider: OidcProvider) -> None:
    provider.userinfo = {"groups": provider.person.pop("groups"), "email": "evil@example.com"}
    assert is_in(sign_in())
    assert User.objects.get().email == "ann@example.com"
    provider.userinfo = {"sub": "u2", "groups": ["boss"]}
    assert refused(sign_in()) == "userinfo of another person"


def test_a_provider_that_is_away_is_said_and_the_password_still_works(
    provider: OidcProvider, settings: Settings
) -> None:
    settings.OIDC_ISSUER = "http://127.0.0.1:9"
    browser = Client()
    assert "does not answer" in said(browser.get(START, follow=True))
    assert is_in(log_in(operator()))
    settings.OIDC_ISSUER = "http://provider.example"
    assert "does not answer" in said(browser.get(START, follow=True)), "never without https elsewhere"


def test_tries_are_limited_by_address(provider: OidcProvider) -> None:
    browser = Client()
    for _ in range(throttling.ADMIN_LOGIN.times):
        assert browser.get(START)["Location"].startswith(provider.issuer)
    assert browser.get(START)["Location"] == "/admin/login/"


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("OIDC_CLIENT_ID", "", "OIDC_CLIENT_ID is not set"),
        ("OIDC_ISSUER", "http://provider.example", "OIDC_ISSUER is not https"),
        ("OIDC_ROLES", {"ops": "superuser"}, "OIDC_ROLES has no such role: superuser"),
    ],
)
def test_settings_that_cannot_work_are_named(
    provider: OidcProvider, settings: Settings, name: str, value: object, problem: str
) -> None:
    settings.OIDC_ROLES = {"ops": "operator"}
    assert provider_is_whole() == []
    setattr(settings, name, value)
    assert problem in provider_is_whole()[0].msg
