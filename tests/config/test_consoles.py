"""All admin pages of the project: names, filters, and that every deletion asks first."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.models import User
from config.admin_steps import DeleteRows, WithSteps
from tests.at_length import some

pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]

# The names of the lists. A person reads each new name before adding it here.
LISTS = {
    *("API keys", "groups", "idempotent replies", "letters", "sessions", "sign-in codes", "suspensions"),
    *("notes about people", "looks at accounts", "console sessions"),
    *("wrong sign-in codes", "settings", "changes of settings", "audit log", "jobs"),
    *(
        "agents",
        "backups",
        "clusters",
        "domain claims",
        "inbound messages",
        "placements",
        "pods",
        "repositories",
        "transitions",
        "users",
    ),
    *("articles", "authors", "catalog versions", "engines", "LLM models", "LLM providers", "localizations", "personas"),
    *("review queue", "takedowns", "tiers", "toolsets"),
    *("books", "chain states", "crypto orders", "decisions", "deposit addresses", "deposits"),
    *("lapses", "next plans"),
    *("misplaced money", "orders", "payments", "stars orders", "stray charges", "subscriptions", "sweeps", "terms"),
    *("card subscriptions", "stripe customers", "stripe disputes", "stripe events"),
    *("stripe invoices", "stripe orders", "stripe refunds"),
    *(
        "account deletions",
        "billing details",
        "coupons",
        "deferred revenue",
        "invoice series",
        "invoices",
        "reports",
        "payouts and sweeps",
        "tax rates",
    ),
    *("deliveries", "events", "hooks", "half minutes", "incidents", "loops", "announcements"),
}
# Actions without a confirmation page, because they delete nothing (`ban` and `take_down` lead to pages of their own).
PLAIN = {
    *("talk_test_agents", "cordon_clusters", "uncordon_clusters", "drill_repositories"),
    *("check_clusters", "empty_clusters", "offer", "let_pass", "take_down", "ban", "lift"),
    "download_csv",
}


def consoles() -> list[Any]:
    return list(admin.site._registry.values())


def place(console: ModelAdmin[Any], page: str = "changelist", *args: str) -> str:
    return reverse(f"admin:{console.opts.app_label}_{console.opts.model_name}_{page}", args=args)


@pytest.fixture
def operator() -> User:
    return User.objects.create_superuser("operator@example.com")


@pytest.fixture
def client(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


@pytest.fixture
def request_(operator: User) -> HttpRequest:
    request = RequestFactory().get("/")
    request.user = operator
    return request


def test_every_list_has_a_name_that_somebody_has_read(client: Client) -> None:
    assert {str(console.opts.verbose_name_plural) for console in consoles()} == LISTS
    index = client.get("/admin/").content.decode().lower()
    assert not [name for name in LISTS if f">{name.lower()}</a>" not in index]


def test_no_list_has_two_filters_of_one_name(client: Client) -> None:
    for console in some(consoles()):
        listed = (client.get(place(console), follow=True).context or {}).get("cl")
        titles = Counter(str(spec.title) for spec in listed.filter_specs) if listed else Counter()
        assert not [title for title, times in titles.items() if times > 1], console


def test_an_action_is_a_step_or_takes_nothing_away(request_: HttpRequest) -> None:
    for console in consoles():
        steps = {step.name for step in console.steps} if isinstance(console, WithSteps) else set()
        assert set(console.get_actions(request_)) - steps <= PLAIN, console


def test_what_may_be_deleted_is_deleted_by_a_step_alone(client: Client, request_: HttpRequest) -> None:
    deleting = [console for console in consoles() if console.has_delete_permission(request_)]
    assert {console.opts.label for console in deleting} == {
        *("auth.Group", "agents.Cluster", "billing.Coupon", "billing.TaxRate", "catalog.Article", "status.Incident"),
    }
    for console in deleting:
        assert any(isinstance(step, DeleteRows) for step in console.steps), console


@pytest.mark.unmeasured
@pytest.mark.parametrize("method", ["get", "post"])
def test_every_step_of_every_list_answers_for_rows_that_are_not_there(client: Client, method: str) -> None:
    for console in some(consoles()):
        for step in getattr(console, "steps", ()):
            answer = getattr(client, method)(f"{place(console, step.name)}?id=0&id=x&id=%00", follow=True)
            assert "nothing left to do" in answer.content.decode(), step
