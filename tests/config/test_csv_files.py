"""Every list of the console as CSV: the columns and rows that its reader sees, harmless in a spreadsheet."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from config import csv_files
from status.models import Incident
from tests import operating
from tests.at_length import some

pytestmark = pytest.mark.django_db

PLACE = "/admin/status/incident/"


@pytest.fixture
def console(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("operator@example.com"))
    return client


def downloaded(answer: Any) -> list[list[str]]:
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.reader(io.StringIO(answer.getvalue().decode())))


def incidents(*titles: str) -> list[Incident]:
    now = timezone.now()
    return [Incident.objects.create(title=title, started_at=now, components=["cache", "mail"]) for title in titles]


def test_the_chosen_rows_with_the_columns_of_the_list(console: Client) -> None:
    chosen, _ = incidents("Slow, and odd", "another")
    head, *rows = downloaded(operating.choose(console, PLACE, "download_csv", chosen))
    assert head == ["title", "status", "started at", "resolved at", "components"]
    assert rows == [["Slow, and odd", "investigating", chosen.started_at.isoformat(), "", "cache, mail"]]


def test_all_rows_of_a_filter_are_in_the_file(console: Client) -> None:
    first, *_ = incidents(*(f"incident {number}" for number in range(150)))
    answer = operating.choose(console, f"{PLACE}?q=incident", "download_csv", first, select_across="1")
    assert len(downloaded(answer)) == 151


@pytest.mark.parametrize("title", ["=1+1", "+1", "@SUM(A1)", "-cmd", "\t=1"])
def test_no_cell_is_a_formula(console: Client, title: str) -> None:
    (chosen,) = incidents(title)
    _, row = downloaded(operating.choose(console, PLACE, "download_csv", chosen))
    assert row[0] == f"'{title}"


def test_too_many_rows_are_refused_in_words(console: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "MOST", 2)
    first, *_ = incidents("one", "two", "three")
    answer = operating.choose(console, PLACE, "download_csv", first, select_across="1")
    assert "at most 2 rows" in answer.content.decode()


def test_every_list_that_offers_actions_offers_its_file_to_those_who_may_see_it(console: Client) -> None:
    for model, own in some(list(admin.site._registry.items())):
        place = reverse(f"admin:{own.opts.app_label}_{own.opts.model_name}_changelist")
        listed = (console.get(place, follow=True).context or {}).get("cl")
        if listed is not None:
            assert "download_csv" in dict(listed.model_admin.get_action_choices(console.get(place).wsgi_request)), model


def test_who_may_not_see_a_list_gets_no_file() -> None:
    (chosen,) = incidents("secret")
    answer = operating.choose(operating.staff("view_delivery"), PLACE, "download_csv", chosen)
    assert answer.status_code == 403
