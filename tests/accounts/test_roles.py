"""The ready-made roles, each tried at every address of the console.

The tables below are written from the rule in words. Support: agents and people, pause, resume, tests; no money and no
settings. Moderator: review of the catalog. Finance: money, refunds, invoices, coupons. Operator: agents, clusters,
platform, settings; no refunds. Auditor: sees everything, changes nothing. Owner: everything, and who has which role.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.contrib.auth.models import Group, Permission
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts import roles
from accounts.models import User
from config.audit.models import AuditEntry
from config.operator_settings.models import OperatorSetting
from tests import operating

PASSWORD = "a good long password"
PEOPLE = {"users", "API keys", "sessions", "letters", "sign-in codes", "wrong sign-in codes", "suspensions"}
HELPING = {"notes about people", "looks at accounts"}
REVIEW = {"personas", "localizations", "articles", "authors", "review queue", "takedowns"}
TERMS = {"terms", "next plans", "lapses"}
OFFERS = {"tiers", "engines", "toolsets", "LLM providers", "LLM models", "personas", "localizations"}

# What an operator of the platform, and only they and owners, does with agents.
REPAIRS = {"rebuild_agents", "move_agents", "delete_agents", "undo_deletion"}
HELP = {"pause_agents", "resume_agents", "talk_test_agents", "back_up_agents"}
# Buttons of the page of an agent, and of a person.
BUTTONS = {"restart_engine", "talk_test_agent", "resend_events"}
LOOKS = {"add_note", "see_as_person"}
DECIDE = {"credit", "returned", "close"}
ACTIONS: dict[str, dict[str, set[str]]] = {
    "support": {
        "agents": HELP | BUTTONS,
        "users": LOOKS,
        "API keys": {"revoke"},
        "letters": {"resend_letters"},
        "sessions": {"end_sessions"},
        "deliveries": {"resend_deliveries"},
    },
    "moderator": {
        "personas": {"take_down", "ban"},
        "articles": {"take_down"},
        "review queue": {"let_pass", "ban", "take_down", "take_down_article", "lift"},
        "authors": {"ban", "lift"},
    },
    "finance": {
        "users": {"add_note"},
        "terms": {"grant", "revoke", "credit", "refund", "verify", "move"},
        "payments": {"refund", "refund_part", *DECIDE},
        "deposits": DECIDE,
        "subscriptions": {"verify"},
        "crypto orders": {"look"},
        "stars orders": {"send_back"},
        "stray charges": {"send_back"},
        "coupons": {"delete_rows"},
        "tax rates": {"delete_rows"},
    },
    "operator": {
        "agents": HELP | BUTTONS | REPAIRS,
        "users": {"suspend_accounts", "restore_accounts"} | LOOKS,
        "API keys": {"revoke"},
        "letters": {"resend_letters"},
        "sessions": {"end_sessions"},
        "deliveries": {"resend_deliveries"},
        "backups": {"restore_backup"},
        "repositories": {"drill_repositories"},
        "clusters": {
            "cordon_clusters",
            "uncordon_clusters",
            "check_clusters",
            "empty_clusters",
            "lose_clusters",
            "delete_rows",
        },
        "incidents": {"delete_rows"},
        "announcements": {"send_announcement"},
        "settings": {"choose", "reset"},
        **{offer: {"offer", "hide"} for offer in OFFERS},
    },
    "auditor": {},
}
PAGES_ONLY = {
    "agents": BUTTONS,
    "users": LOOKS,
    "announcements": {"send_announcement"},
    "review queue": {"take_down_article", "lift"},
    "settings": {"choose", "reset"},
}
# Where a role adds rows in forms, and where it may change one. Agents and users have a form without fields.
ADDS: dict[str, set[str]] = {
    "support": set(),
    "moderator": set(),
    "finance": {"coupons", "tax rates", "sweeps"},
    "operator": {"clusters", "incidents", "announcements", *OFFERS},
    "auditor": set(),
}
CHANGES: dict[str, set[str]] = {
    **{role: set() for role in ADDS},
    "finance": {"coupons", "tax rates"},
    "operator": {"clusters", "incidents", "announcements", "agents", "users", "settings", *OFFERS},
}
JOBS = [*ADDS, "owner"]

pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]


def consoles() -> list[Any]:
    return list(admin.site._registry.values())


def name(console: ModelAdmin[Any]) -> str:
    return str(console.opts.verbose_name_plural)


def of(*apps: str) -> set[str]:
    return {name(console) for console in consoles() if console.opts.app_label in apps}


def sees(role: str) -> set[str]:
    everything = {name(console) for console in consoles()}
    return {
        "support": of("agents", "webhooks", "status") | PEOPLE | HELPING | {"jobs"},
        "moderator": REVIEW,
        "finance": of("billing") | {"agents", "transitions", "users", "suspensions", "notes about people", "jobs"},
        "operator": of("agents", "webhooks", "status", "catalog")
        | PEOPLE
        | HELPING
        | TERMS
        | {"idempotent replies", "settings", "changes of settings", "jobs"},
        "auditor": everything,
        "owner": everything,
    }[role]


def person(role: str) -> User:
    user = User.objects.create_user(f"{role}@example.com", PASSWORD, is_staff=True)
    user.groups.add(Group.objects.get(name=role))
    return user


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def place(console: ModelAdmin[Any], page: str = "changelist", *args: str) -> str:
    return reverse(f"admin:{console.opts.app_label}_{console.opts.model_name}_{page}", args=args)


def steps(console: Any) -> Iterator[Any]:
    yield from (*getattr(console, "steps", ()), *getattr(console, "pages", ()))


@pytest.fixture(autouse=True)
def _roles() -> None:
    roles.bring_up_to_date()


@pytest.mark.sampled
@pytest.mark.parametrize("role", JOBS)
def test_a_role_sees_its_lists_and_no_others(role: str) -> None:
    client = signed_in(person(role))
    answers = {name(console): client.get(place(console)).status_code for console in consoles()}
    assert {one for one, status in answers.items() if status == 200} == sees(role)
    assert {status for one, status in answers.items() if one not in sees(role)} <= {403}


@pytest.mark.sampled
@pytest.mark.parametrize("role", ADDS)
def test_a_role_adds_and_changes_rows_only_where_its_job_is(role: str) -> None:
    client = signed_in(person(role))
    may = {name(console) for console in consoles() if client.get(place(console, "add")).status_code == 200}
    assert may == ADDS[role]
    changes = set()
    for console in consoles():
        page = place(console, "change", "0")
        if client.post(page, {}).status_code != 403:
            changes.add(name(console))
        assert client.post(place(console, "delete", "0"), {"post": "yes"}).status_code in {403, 404}, console
        if name(console) not in sees(role):
            assert {client.get(page).status_code, client.post(page, {}).status_code} == {403}, console
    # The page of a review looks for the persona before it asks whether the person may approve it.
    assert changes - {"review queue"} == CHANGES[role]


@pytest.mark.sampled
@pytest.mark.parametrize("role", ADDS)
def test_a_role_has_the_actions_of_its_job_and_no_others(role: str) -> None:
    """An action is a choice of the list, and a step is a page too. The page of a step of others is refused."""
    user = person(role)
    client, request = signed_in(user), RequestFactory().get("/")
    request.user = user
    for console in consoles():
        expected = ACTIONS[role].get(name(console), set())
        choices = set(console.get_actions(request)) if name(console) in sees(role) else set()
        # Who sees a list may also have it as a file.
        assert choices - {"download_csv"} == expected - PAGES_ONLY.get(name(console), set()), console
        for step in steps(console):
            address = f"{place(console, step.name)}?{step.parameter}=0"
            answers = {client.get(address).status_code, client.post(address, {"confirm": "1"}).status_code}
            assert (answers == {403}) == (step.name not in expected), (console, step.name)


@pytest.mark.parametrize("role", ["auditor", "support"])
def test_an_action_of_others_is_not_done_for_who_posts_it(role: str) -> None:
    client = signed_in(person(role))
    ann = User.objects.create_user("ann@example.com", is_active=False)
    users = reverse("admin:accounts_user_changelist")
    answer = client.post(users, {"action": "restore_accounts", "_selected_action": [ann.pk]}, follow=True)
    assert "Restore accounts" not in answer.content.decode()
    ann.refresh_from_db()
    assert not ann.is_active


def test_an_owner_has_all_actions_but_those_on_the_roles_themselves() -> None:
    user, above = person("owner"), User.objects.create_superuser("operator@example.com")
    mine, theirs = RequestFactory().get("/"), RequestFactory().get("/")
    mine.user, theirs.user = user, above
    for console in consoles():
        missing = set(console.get_actions(theirs)) - set(console.get_actions(mine))
        assert missing == ({"delete_rows"} if name(console) == "groups" else set()), console


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("/admin/accounts/letter/mails/", {"support", "operator", "auditor", "owner"}),
        ("/admin/accounts/letter/mails/pod_stops/en/", {"support", "operator", "auditor", "owner"}),
        ("/admin/accounts/letter/mails/pod_stops/en/html", {"support", "operator", "auditor", "owner"}),
        ("/admin/agents/agent/agt_0/logs/", {"support", "finance", "operator", "auditor", "owner"}),
        ("/admin/billing/invoice/inv_0/pdf", {"finance", "auditor", "owner"}),
        ("/admin/catalog/review/nothing/change/", {"moderator", "operator", "auditor", "owner"}),
        ("/admin/config/auditentry/", {"auditor", "owner"}),
    ],
)
def test_every_page_of_its_own_is_for_its_roles(address: str, allowed: set[str]) -> None:
    answers = {role: signed_in(person(role)).get(address).status_code for role in JOBS}
    assert {role for role, status in answers.items() if status != 403} == allowed


def test_a_test_mail_is_sent_by_operators_alone() -> None:
    address = "/admin/accounts/letter/mails/pod_stops/en/send"
    sent = {role for role in JOBS if signed_in(person(role)).post(address).status_code == 302}
    assert sent == {"operator", "owner"}


def test_migrate_makes_the_roles_as_the_table_says_and_brings_them_back() -> None:
    known = {
        f"{one.content_type.app_label}.{one.codename}" for one in Permission.objects.select_related("content_type")
    }
    assert [name for role in roles.ROLES.values() for name in role.does if name not in known] == []
    group = Group.objects.get(name="auditor")
    group.permissions.add(Permission.objects.get(codename="delete_agent"))
    roles.bring_up_to_date()
    assert {one.codename.partition("_")[0] for one in group.permissions.all()} == {"view"}


def test_an_owner_says_who_has_which_role_and_the_log_has_it() -> None:
    owner, ann = person("owner"), User.objects.create_user("ann@example.com")
    support = Group.objects.get(name="support")
    page = reverse("admin:accounts_user_change", args=[ann.pk])
    client = signed_in(owner)
    typed = {"is_staff": "on", "groups": [support.pk], "is_superuser": "on"}
    answer = client.post(page, operating.typed_in(client, page) | typed)
    assert answer.status_code == 302, answer.content.decode()
    ann.refresh_from_db()
    assert (ann.is_staff, ann.is_superuser, list(ann.groups.all())) == (True, False, [support])
    row = AuditEntry.objects.get(verb="Changed")
    assert (row.who, row.label) == ("owner@example.com", "ann@example.com")
    assert sorted(row.changes) == [["groups", "", "support"], ["is staff", "no", "yes"]]


@pytest.mark.parametrize("role", JOBS)
def test_nobody_raises_their_own_rights(role: str) -> None:
    user = person(role)
    every = [one.pk for one in Permission.objects.all()]
    typed = {"is_staff": "on", "is_superuser": "on", "user_permissions": every}
    groups = [group.pk for group in Group.objects.all()]
    client = signed_in(user)
    page = reverse("admin:accounts_user_change", args=[user.pk])
    client.post(page, operating.typed_in(client, page) | typed | {"groups": groups})
    own = Group.objects.get(name=role)
    before = own.permissions.count()
    for address in (reverse("admin:auth_group_change", args=[own.pk]), reverse("admin:auth_group_add")):
        assert client.post(address, {"name": role, "permissions": every}).status_code == 403
    user = User.objects.get(pk=user.pk)
    assert (user.is_superuser, list(user.groups.all()), user.user_permissions.count()) == (False, [own], 0)
    assert own.permissions.count() == before


def test_nobody_takes_over_or_stops_who_stands_above_them() -> None:
    above, owner = User.objects.create_superuser("above@example.com", PASSWORD), person("owner")
    typed = {"password1": PASSWORD * 2, "password2": PASSWORD * 2, "usable_password": "true"}
    for role in ("operator", "owner"):
        user = owner if role == "owner" else person(role)
        client = signed_in(user)
        for other in (above, owner):
            if other != user:
                client.post(reverse("admin:auth_user_password_change", args=[other.pk]), typed)
                page = reverse("admin:accounts_user_change", args=[other.pk])
                without = {"is_staff", "is_superuser"}
                sent = {key: value for key, value in operating.typed_in(client, page).items() if key not in without}
                client.post(page, sent)
                operating.act(client, reverse("admin:accounts_user_changelist"), "suspend_accounts", other)
    for other in (above, owner):
        other.refresh_from_db()
        assert other.check_password(PASSWORD)
        assert (other.is_staff, other.is_active) == (True, True)
    assert above.is_superuser
    assert owner.groups.count() == 1


def test_nobody_edits_or_deletes_a_ready_made_role_in_the_console() -> None:
    client = signed_in(User.objects.create_superuser("above@example.com"))
    group = Group.objects.get(name="support")
    page = reverse("admin:auth_group_change", args=[group.pk])
    assert client.get(page).status_code == 200
    assert client.post(page, {"name": "support", "permissions": []}).status_code == 403
    operating.act(client, reverse("admin:auth_group_changelist"), "delete_rows", group)
    assert Group.objects.filter(name="support").exists()


def test_an_auditor_sees_no_secret_and_no_button() -> None:
    client, ann = signed_in(person("auditor")), User.objects.create_user("ann@example.com", PASSWORD)
    page = client.get(reverse("admin:accounts_user_change", args=[ann.pk])).content.decode()
    assert ann.password not in page
    assert 'name="_save"' not in page
    settings = client.get(reverse("admin:config_operatorsetting_changelist")).content.decode()
    assert "?name=MAX_KEYS" not in settings.replace("settingchange/?name=MAX_KEYS", "")
    assert client.post("/admin/config/operatorsetting/choose/?name=MAX_KEYS", {"value": "9"}).status_code == 403
    assert not OperatorSetting.objects.exists()
