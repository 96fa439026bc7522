"""The status as a page for people, and as a feed."""

from __future__ import annotations

from datetime import datetime, timedelta
from xml.etree import ElementTree

import pytest
from django.contrib.admin.utils import quote
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from status import components
from status.models import Incident
from tests.pages.page import Page
from tests.status.conftest import fresh_look

pytestmark = pytest.mark.django_db(transaction=True)  # the checks query the database from threads of their own

ATOM = "{http://www.w3.org/2005/Atom}"


def opened(api: APIClient, path: str = "/en/status/page") -> Page:
    fresh_look()
    answer = api.get(path)
    assert answer.status_code == 200
    return Page(answer.content.decode())


def part(page: Page, name: str) -> str:
    """The page's text about a component."""
    return next(one.text for one in page.all("li") if f">{name}<" in f">{one.text.strip().splitlines()[0]}<")


def bars(page: Page, name: str) -> list[bool]:
    """The days of a component, oldest first: whether each day is drawn with an incident."""
    (row,) = [one for one in page.all("li") if one.text.strip().startswith(name)]
    return [one.has("hurt") for one in page.all("i") if row in one.within]


def test_a_component_shows_90_days_and_on_which_an_incident_named_it(api: APIClient) -> None:
    now = timezone.now()
    began, ended = now - timedelta(days=3), now - timedelta(days=2)
    Incident.objects.create(
        title="Slow boots", status="resolved", started_at=began, resolved_at=ended, components=["runtime"]
    )
    Incident.objects.create(title="Late mail", started_at=now - timedelta(minutes=1), components=["mail"])
    page = opened(api)
    assert bars(page, "Running agents") == [False] * 86 + [True, True, False, False]
    assert "Incidents on 2 of the last 90 days" in part(page, "Running agents")
    assert bars(page, "Cache") == [False] * 90
    assert "No incident in the last 90 days" in part(page, "Cache")
    assert "Works, but not as it should" in part(page, "Mail")
    assert "Some parts do not work as they should" in page.html


def test_days_before_the_oldest_incident_that_is_read_are_unknown_not_well(api: APIClient) -> None:
    now = timezone.now()
    Incident.objects.bulk_create(
        Incident(title="Blip", status="resolved", started_at=now - timedelta(hours=one), resolved_at=now)
        for one in range(101)
    )
    unknown = [one for one in opened(api).all("i") if one.has("unknown")]
    assert len(unknown) == 9 * (89 - (now.date() - (now - timedelta(hours=99)).date()).days)


def test_what_the_operator_tells_is_read_in_its_order_on_the_page_and_in_the_feed(
    api: APIClient, client: Client
) -> None:
    client.force_login(User.objects.create_superuser("operator@example.com"))
    form = {"title": "<b>Slow</b>", "started_at_0": "2026-11-21", "started_at_1": "06:30", "components": ["cache"]}
    client.post("/admin/status/incident/add/", {**form, "status": "investigating", "update": "We look."})
    incident = Incident.objects.get()
    place = f"/admin/status/incident/{quote(incident.pk)}/change/"
    client.post(place, {**form, "status": "identified", "update": ""})
    client.post(place, {**form, "status": "identified", "update": ""})  # an update without news
    client.post(place, {**form, "status": "monitoring", "update": "A <fan> was still."})
    assert b"A &lt;fan&gt; was still." in client.get(place).content
    (told,) = [one.text for one in opened(api).all("article", id=incident.pk)]
    assert "<b>Slow</b>" in told
    said = [
        "Fixed; we are watching it",
        "A <fan> was still.",
        "We know the cause",
        "looking for the cause",
        "We look.",
    ]
    places = [told.rindex(one) for one in said]
    assert places == sorted(places)
    assert told.count("We know the cause") == 1
    feed = ElementTree.fromstring(api.get("/ru/status/feed.atom").content)  # our own XML, so the parser is safe
    entry = feed.find(f"{ATOM}entry")
    assert entry is not None
    assert entry.findtext(f"{ATOM}title") == "<b>Slow</b>"
    assert "&lt;fan&gt;" in str(entry.findtext(f"{ATOM}content"))
    assert str(entry.findtext(f"{ATOM}id")).endswith(f"/status/page#{incident.pk}")
    assert feed.findtext(f"{ATOM}updated") == entry.findtext(f"{ATOM}updated")


@pytest.mark.parametrize("lang", ["en", "ru", "es", "pt", "tr", "id"])
def test_the_page_is_in_each_language_and_names_its_feed(api: APIClient, lang: str) -> None:
    page = opened(api, f"/{lang}/status/page")
    assert page.lang == lang
    assert page.one("link", type="application/atom+xml").attributes["href"].endswith(f"/{lang}/status/feed.atom")
    assert page.all("script") == []
    answer = api.get(f"/{lang}/status/feed.atom")
    assert answer["Content-Type"] == "application/atom+xml; charset=utf-8"
    assert api.get(f"/{lang}/status/feed.atom", HTTP_IF_NONE_MATCH=answer["ETag"]).status_code == 304


def test_a_hundred_looks_ask_the_database_once(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, look = [], components.platform

    def counted(*, now: datetime) -> components.Platform:
        looks.append(now)
        return look(now=now)

    fresh_look()
    monkeypatch.setattr(components, "platform", counted)
    for _ in range(100):
        assert api.get("/en/status/page").status_code == 200
    assert len(looks) == 1


def test_the_page_is_there_while_the_database_is_not(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an earlier check, the page says that the history is not available."""
    fresh_look()

    def away() -> None:
        raise ConnectionError("server closed the connection")

    monkeypatch.setattr("status.components.DATABASE._check", away)
    answer = api.get("/en/status/page")
    assert answer.status_code == 200
    assert "The service is down" in answer.content.decode()
    assert "The history is not available" in answer.content.decode()
    assert api.get("/en/status/feed.atom").status_code == 200


def test_the_language_can_be_asked_for(api: APIClient) -> None:
    assert api.get("/status/page?lang=es")["Location"].endswith("/es/status/page")
