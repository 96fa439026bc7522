"""No page of the console can forget the audit log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin, messages
from django.contrib.admin import ModelAdmin
from django.contrib.auth.models import Permission
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import URLPattern, include, path
from django.utils import timezone

from accounts.console import Console
from accounts.models import User
from config.audit.console import Audited
from config.audit.models import AuditEntry
from status.models import Loop

LIST = "/forgetful/auth/permission/"

pytestmark = pytest.mark.django_db


class ForgetfulAdmin(ModelAdmin[Permission]):
    """An admin whose author did not think of the audit log."""

    actions = ("rename", "call", "refuse")
    list_editable = ("codename",)
    list_display = ("name", "codename")

    def get_urls(self) -> list[URLPattern]:
        own = path("touch/", self.admin_site.admin_view(self.touch), name="auth_permission_touch")
        return [own, *super().get_urls()]

    def touch(self, request: HttpRequest) -> HttpResponse:
        if request.method == "POST" and "refused" not in request.POST:
            Loop.objects.update_or_create(pk="touched", defaults={"succeeded_at": timezone.now()})
        return HttpResponse("touched")

    @admin.action(description="Rename %(verbose_name_plural)s")
    def rename(self, request: HttpRequest, chosen: Any) -> None:
        chosen.update(name="renamed")

    @admin.action(description="Call a provider")
    def call(self, request: HttpRequest, chosen: Any) -> None:
        messages.info(request, "called")

    @admin.action(description="Say one thing")
    def refuse(self, request: HttpRequest, chosen: Any) -> None:
        self.log_change(request, chosen[0], "Said: nothing")


site = Console(name="forgetful")
site.register(Permission, ForgetfulAdmin)
forgetful = pytest.mark.urls((path("forgetful/", site.urls), path("", include("config.urls"))))


@pytest.fixture
def console() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("operator@example.com"))
    return client


def verbs() -> list[str]:
    return [row.verb for row in AuditEntry.objects.order_by("id") if row.verb != "Signed in"]


def act(console: Client, name: str, rows: list[Permission], **more: Any) -> None:
    body = {"action": name, "_selected_action": [row.pk for row in rows], **more}
    assert console.post(LIST, body).status_code == 302


def test_every_admin_and_every_action_of_it_is_recorded() -> None:
    request = RequestFactory().get("/")
    request.user = User.objects.create_superuser("operator@example.com")
    for console in admin.site._registry.values():
        assert isinstance(console, Audited), console
        for name, (run, _, _) in console.get_actions(request).items():
            assert getattr(run, "func", None).__module__ == "config.audit.console", (console, name)


def test_every_page_of_the_console_is_watched() -> None:
    """A view of the console that is not wrapped by `Console.admin_view` could be posted to without a row."""
    marks = ("is_watched", "model_admin", "admin_site")  # Django's own wrappers of `admin_view` set the last two
    for pattern in _patterns(admin.site.get_urls()):
        view: Any = pattern.callback
        found = set()
        while view is not None:
            found |= {mark for mark in marks if hasattr(view, mark)}
            view = getattr(view, "__wrapped__", None)
        assert found or pattern.name in {"login", "provider_start", "provider_back"}, pattern


def _patterns(patterns: Any) -> Iterator[URLPattern]:
    for one in patterns:
        if isinstance(one, URLPattern):
            yield one
        else:
            yield from _patterns(one.url_patterns)


@forgetful
def test_an_action_that_records_nothing_gets_a_row_for_each_object(console: Client) -> None:
    rows = list(Permission.objects.all()[:3])
    act(console, "rename", rows)
    act(console, "call", rows[:1])
    act(console, "refuse", rows)
    assert verbs() == [*["Tried: Rename permissions"] * 3, "Tried: Call a provider", "Said"]


@forgetful
def test_an_action_on_a_whole_long_list_gets_fifty_rows(console: Client) -> None:
    assert Permission.objects.count() > 50
    act(console, "rename", list(Permission.objects.all()[:1]), select_across="1")
    assert len(verbs()) == 50


@forgetful
def test_a_page_of_its_own_that_changes_data_gets_a_row(console: Client) -> None:
    console.get(f"{LIST}touch/")
    console.post(f"{LIST}touch/", {"refused": "yes"})
    assert verbs() == []
    console.post(f"{LIST}touch/")
    row = AuditEntry.objects.latest("id")
    assert (row.verb, row.label) == ("Auth permission touch", f"{LIST}touch/")
    assert row.changes == [["tables", "", "status_loop"]]


@forgetful
def test_a_row_that_is_edited_on_the_list_is_recorded(console: Client) -> None:
    first = Permission.objects.first()
    assert first is not None
    page = console.get(f"{LIST}?id={first.pk}")
    sent = {f"form-{name}": value for name, value in _managed(page).items()}
    console.post(
        f"{LIST}?id={first.pk}", {**sent, "form-0-id": first.pk, "form-0-codename": "another", "_save": "Save"}
    )
    row = AuditEntry.objects.latest("id")
    assert (row.verb, row.changes) == ("Changed", [["codename", first.codename, "another"]])
    assert json.dumps(row.changes)


def _managed(page: Any) -> dict[str, str]:
    form = page.context["cl"].formset.management_form
    return {bound.name: bound.value() for bound in form}
