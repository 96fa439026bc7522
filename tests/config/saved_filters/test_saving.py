"""Filters of the console's lists, saved under a name: opened, shared, renamed, deleted, and never a right."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.urls import reverse

from accounts import personal
from accounts.models import User
from config.audit.models import AuditEntry
from config.saved_filters import saving
from config.saved_filters.models import SavedFilter
from status.models import Incident
from tests import operating

pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]

INCIDENTS = "/admin/status/incident/"
SAVE = f"{INCIDENTS}saved-filters/"
NIGHT = datetime(2026, 11, 28, 6, tzinfo=UTC)


def save(console: Client, name: str, query: str, **more: str) -> str:
    """Send the form. Returns the page after it."""
    answer = console.post(SAVE, {"name": name, "query": query, **more}, follow=True)
    assert answer.status_code == 200
    return str(answer.content.decode())


def opened(console: Client, page: str, name: str) -> Any:
    """Follow the link of this name on the page."""
    link = re.search(rf'<a href="([^"]+)"[^>]*>{name}</a>', page)
    assert link, page
    return console.get(link[1], follow=True)


def test_a_filter_is_saved_opened_renamed_and_deleted() -> None:
    console = operating.staff("view_incident")
    for title in ("mail is slow", "web is slow"):
        Incident.objects.create(title=title, started_at=NIGHT, components=["mail"])
    listed = console.get(INCIDENTS, {"q": "mail", "p": "1"})
    assert listed.context["present_filter"] == "q=mail"
    page = save(console, "  the   mail ", "q=mail&p=7&_popup=1")
    found = opened(console, page, "the mail")
    assert [row.title for row in found.context["cl"].queryset] == ["mail is slow"]
    assert re.search(r'aria-current="page"\s+dir="auto">the mail</a>', found.content.decode())
    row = SavedFilter.objects.get()
    assert row.query == "q=mail"
    at = f"{SAVE}{row.pk}/change/"
    assert "mail" in console.get(at).content.decode()
    assert "The filter post is saved." in console.post(at, {"name": "post"}, follow=True).content.decode()
    assert "The filter post is deleted." in console.post(at, {"delete": "1"}, follow=True).content.decode()
    assert console.post(at, {"delete": "1"}).status_code == 404  # sent twice
    verbs = list(AuditEntry.objects.filter(verb__endswith="filter").order_by("pk").values_list("verb", flat=True))
    assert verbs == ["Saved a filter", "Changed a saved filter", "Deleted a saved filter"]


def test_a_range_of_dates_goes_with_the_clock() -> None:
    console = operating.staff("view_payment")
    at = reverse("admin:billing_payment_changelist")
    with time_machine.travel(NIGHT, tick=False):
        day_ago = (NIGHT - timedelta(days=1)).isoformat(sep=" ")
        page = console.post(
            f"{at}saved-filters/", {"name": "tonight", "query": f"at__gte={day_ago.replace('+', '%2B')}"}, follow=True
        ).content.decode()
        assert "Last 24 hours follows the clock." in page
    with time_machine.travel(NIGHT + timedelta(days=9), tick=False):
        assert opened(console, page, "tonight").context["cl"].params == {"at__gte": "2026-12-06 06:00:00+00:00"}


def test_a_colleague_opens_what_is_shared_and_changes_nothing_of_it() -> None:
    ann, ben, stranger = (operating.staff("view_incident"), operating.staff("view_incident"), operating.staff())
    save(ann, "mine", "q=a")
    save(ann, "ours", "q=b", is_shared="on")
    owner = SavedFilter.objects.get(name="ours").owner
    page = ben.get(INCIDENTS).content.decode()
    assert "mine" not in page
    assert f"of {owner.email}" in page
    assert opened(ben, page, "ours").context["cl"].query == "b"
    rows = {row.name: f"{SAVE}{row.pk}/" for row in SavedFilter.objects.all()}
    assert ben.get(rows["mine"]).status_code == 404
    assert ben.post(f"{rows['ours']}change/", {"delete": "1"}).status_code == 404
    # The list refuses who may not see it, and so does each page of its saved filters.
    for address in (SAVE, rows["ours"], f"{rows['ours']}change/"):
        assert stranger.post(address, {"name": "x", "query": "q=x"}).status_code == 403
    assert ben.get(rows["ours"].replace("status/incident", "accounts/user")).status_code == 403
    owner.is_active = False
    owner.save()
    assert "ours" not in ben.get(INCIDENTS).content.decode()


def test_only_what_the_list_allows_is_saved() -> None:
    console = operating.staff("view_incident", "view_user")
    for query in (
        "nothing=1",
        "started_at__gte=never",
        "",
        "p=2",
        "q=%00",
        "title__nothing=1",
        "x" * 2_001,
        "q=" + "é" * 1_990,
    ):
        save(console, "odd", query)
    for query in ("password__startswith=a", "sessions__digest__startswith=a"):
        console.post("/admin/accounts/user/saved-filters/", {"name": "odd", "query": query})
    for name in ("", " ", "x" * 61, "a\0b"):
        save(console, name, "q=a")
    assert not SavedFilter.objects.exists()
    page = save(console, "<script>alert(1)</script>", "q=a")
    assert "<script>alert" not in page


def test_a_name_is_saved_once_and_a_person_has_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "MOST", 2)
    console = operating.staff("view_incident")
    save(console, "one", "q=a")
    save(console, "one", "q=b")
    save(console, "two", "q=c")
    assert "Delete one of them first." in save(console, "three", "q=d")
    assert dict(SavedFilter.objects.values_list("name", "query")) == {"one": "q=b", "two": "q=c"}
    one = SavedFilter.objects.get(name="one")
    answer = console.post(f"{SAVE}{one.pk}/change/", {"name": "two"})
    assert "You have another filter" in answer.content.decode()


def test_filters_go_with_their_owner_and_with_the_person_whom_they_search() -> None:
    ann = User.objects.create_user("ann+a@example.com", is_staff=True)
    ben = User.objects.create_user("ben@example.com")
    now = datetime.now(UTC)
    for owner, query in ((ann, "q=ann"), (ben, "q=ann%2Ba%40example.com"), (ben, "q=other")):
        saving.save(owner, listed="accounts.user", name=query, query=query, moving={}, is_shared=True, now=now)
    assert [row["query"] for row in dict(personal.exported(ann))["saved-filters"]] == ["q=ann"]
    personal.erase(ann)
    assert list(SavedFilter.objects.values_list("query", flat=True)) == ["q=other"]
    assert not AuditEntry.objects.filter(changes__icontains="ann+a@example.com").exists()
