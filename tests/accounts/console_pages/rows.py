"""A platform with rows of nearly every kind, and an operator who may see all pages of the console."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest
from django.conf import settings
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from agents.models import Agent
from benchmarks import busy_platform
from benchmarks.bare_tables import unchecked
from billing.models import Coupon
from catalog.models import Author, Persona, PersonaL10n
from config.jobs import control, kinds
from config.mail_forms import FORMS
from config.operator_settings import choosing
from config.saved_filters.models import SavedFilter
from status.announcements.models import Announcement
from tests.accounts.console_pages.addresses import addresses
from tests.accounts.factors.people import CONFIRM, shown_by_app, with_app

AGENTS = 60
# Kinds whose rows are more than columns, or that a constraint of the database keeps from being empty.
MORE_THAN_COLUMNS = {
    *("config.Job", "config.OperatorSetting", "config.SettingChange", "catalog.PersonaL10n", "billing.Coupon"),
    *("status.Announcement", "billing.Decision", "billing.NextPlan", "accounts.ConsoleSession"),
}
TEXTS = ("CharField", "TextField")
WORD = "one"
LANG = "de"


@dataclass
class ConsoleRows:
    operator: User
    # By the name of a route: what stands in its address, where that is not the first row of the list.
    arguments: dict[str, list[Any]]

    @cached_property
    def client(self) -> Client:
        """Signed in with both factors."""
        client = Client()
        client.force_login(self.operator)
        client.post(CONFIRM, {"code": shown_by_app()})
        return client

    def cookies(self) -> dict[str, str]:
        name = settings.SESSION_COOKIE_NAME
        return {name: self.client.cookies[name].value}

    def addresses(self) -> dict[str, str]:
        request = HttpRequest()
        request.user = self.operator
        return addresses(request, self.arguments)


@pytest.fixture
def console_rows(catalog: None, runtime: object) -> ConsoleRows:
    busy_platform.fill(AGENTS)
    operator = with_app(User.objects.create_superuser("operator@example.com"))
    with unchecked():
        _with_words(operator)
        for console in admin.site._registry.values():
            if console.opts.label not in MORE_THAN_COLUMNS and not console.model._default_manager.exists():
                _one(console.model)
    return ConsoleRows(operator, _arguments(operator))


def _one(model: type[Model]) -> None:
    """A row with nothing in it but what it must have, and a word in each text."""
    columns = {}
    for one in model._meta.local_concrete_fields:
        if one.get_internal_type() in TEXTS and not one.null and not one.choices:
            columns[str(one.column)] = f"'{WORD[: one.max_length]}'"
        related = one.related_model._default_manager.first() if one.related_model and not one.null else None
        if related is not None:
            columns[str(one.column)] = f"'{related.pk}'"
        elif one.primary_key and not one.get_internal_type().endswith("AutoField"):
            kind = one.get_internal_type()
            columns[str(one.column)] = "1" if "Integer" in kind else "now()" if kind == "DateTimeField" else "'one'"
    busy_platform.insert(model._meta.label, "(SELECT 1) one", columns)


def _with_words(operator: User) -> None:
    now = timezone.now()
    for name, value in (("TRIAL_DAYS", "9"), ("STAR_USD", "0.02"), ("STRIPE_SECRET_KEY", "sk_live_of_a_test")):
        choosing.choose(name, value, actor="operator:x", now=now, reason="a test")
    Coupon.objects.create(code="SPRING", percent=10)
    Announcement.objects.create(title="Maintenance on Sunday", text="Agents pause for **ten minutes**.")
    persona = Persona.objects.filter(owner=None)[0]
    PersonaL10n.objects.create(persona=persona, lang=LANG, name="Eule", tagline="", for_who="", does=["Wacht"])
    author = Author.objects.order_by("pk")[0].user
    Persona.objects.create(
        id="night-owl", name="Night Owl", tier="small", category="study", soul="x", status="published", owner=author
    )
    console: Any = admin.site.get_model_admin(Agent)
    step = next(one for one in console.steps if one.name == "back_up_agents")
    control.draft(kinds.of(console, step), Agent.objects.live(), by=operator, now=now, chosen="on the list of agents")
    SavedFilter.objects.create(
        listed="agents.agent", owner=operator, name="Failed", query="status__exact=failed", created_at=now
    )


def _arguments(operator: User) -> dict[str, list[Any]]:
    announcement, saved = Announcement.objects.get(), SavedFilter.objects.get()
    return {
        "remove_factor": [operator.factors.get().pk],
        "app_list": ["agents"],
        "auth_user_password_change": [operator.pk],
        "agents_agent_logs": [Agent.objects.filter(slug__startswith="agent-").first().pk],  # type: ignore[union-attr]
        "agents_agent_change_filter": [saved.pk],
        "status_announcement_mail": [announcement.pk],
        "accounts_letter_mail": [next(iter(FORMS)), "en"],
    }
