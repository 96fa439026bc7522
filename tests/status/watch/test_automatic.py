"""Incidents that open and close by themselves.

One letter is one half minute: d is down, u is up, a dot is no sample."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.admin.utils import quote
from django.db import connection
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from status.models import HealthSample, Incident
from status.watch import automatic, samples
from status.watch.samples import EVERY
from tests.pages.page import Page
from tests.status.conftest import fresh_look

pytestmark = pytest.mark.django_db

BEGAN = datetime(2026, 11, 27, 12, tzinfo=UTC)
FIVE_MINUTES = "d" * 12


class PlatformDay:
    """A day of the platform, half minute by half minute."""

    def __init__(self) -> None:
        self.now = BEGAN

    def play(self, letters: str, *down: str) -> None:
        for letter in letters:
            self.now += EVERY
            if letter != ".":
                HealthSample.objects.create(at=self.now, down=(down or ("mail",)) if letter == "d" else [])
                automatic.look(self.now, now=self.now)


@pytest.fixture
def day() -> PlatformDay:
    return PlatformDay()


@pytest.fixture
def console(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("operator@example.com"))
    return client


def the_only() -> Incident:
    return Incident.objects.get()


def told(incident: Incident) -> list[str]:
    return [one.text for one in incident.updates.order_by("id")]


def write(console: Client, incident: Incident, **changed: str) -> None:
    began = {"started_at_0": f"{incident.started_at:%Y-%m-%d}", "started_at_1": f"{incident.started_at:%H:%M:%S}"}
    form = {"title": incident.title, "status": incident.status, "components": incident.components, **began}
    answer = console.post(f"/admin/status/incident/{quote(incident.pk)}/change/", {**form, **changed})
    assert answer.status_code == 302, answer.content


def test_a_part_that_is_down_for_five_minutes_has_an_incident_until_it_works_for_five(day: PlatformDay) -> None:
    day.play("uuuu" + "d" * 10)
    assert not Incident.objects.exists()
    day.play("d")
    incident = the_only()
    assert (incident.title, incident.components, incident.status) == ("Mails are not sent", ["mail"], "investigating")
    assert incident.started_at == BEGAN + 5 * EVERY
    day.play("u" * 10)
    assert the_only().status == "investigating"
    up_since = day.now - 9 * EVERY
    day.play("u")
    assert (the_only().status, the_only().resolved_at) == ("resolved", up_since)
    assert told(incident) == ["Our own checks found this. We are looking for the cause.", "It works again."]


def test_one_sample_that_is_well_and_a_gap_open_nothing(day: PlatformDay) -> None:
    day.play("d" * 9 + "u" + "d" * 9 + "." * 10 + "d" * 9)
    assert not Incident.objects.exists()
    day.play("d")
    assert the_only().started_at == day.now - 9 * EVERY


def test_flapping_makes_one_incident_with_a_bounded_history(day: PlatformDay) -> None:
    day.play((FIVE_MINUTES + "u" * 12) * 40)
    incident = the_only()
    assert incident.status == "resolved"
    assert incident.updates.count() == automatic.MOST_UPDATES
    day.play("u" * 130 + FIVE_MINUTES)  # more than an hour later
    assert Incident.objects.count() == 2


def test_one_cause_makes_one_incident(day: PlatformDay) -> None:
    day.play(FIVE_MINUTES, "cache", "queue", "webhooks.drain")
    assert the_only().title == "The cache does not answer"


def test_late_loops_that_people_wait_for_are_an_incident_and_others_are_none(day: PlatformDay) -> None:
    day.play(FIVE_MINUTES, "accounts.purge")
    assert not Incident.objects.exists()
    day.play(FIVE_MINUTES, "webhooks.drain", "agents.reconcile_due")
    assert the_only().components == ["agents.reconcile_due", "webhooks.drain"]


def test_what_an_operator_tells_of_is_not_told_a_second_time_nor_closed(day: PlatformDay) -> None:
    own = Incident.objects.create(title="Mail is slow", started_at=BEGAN, components=["mail"])
    day.play(FIVE_MINUTES + "u" * 12)
    assert (the_only().pk, the_only().status, told(own)) == (own.pk, "investigating", [])


def test_an_incident_that_an_operator_updated_is_the_operators(day: PlatformDay, console: Client) -> None:
    day.play(FIVE_MINUTES)
    write(console, the_only(), status="identified", update="The provider has a fire.")
    day.play("u" * 30 + FIVE_MINUTES + "u" * 30)
    incident = the_only()
    assert (incident.status, incident.resolved_at) == ("identified", None)
    assert told(incident)[1:] == ["The provider has a fire.", "It works again."]


def test_one_that_an_operator_closed_while_it_lasts_opens_again_only_after_five_more_minutes(
    day: PlatformDay, console: Client
) -> None:
    day.play(FIVE_MINUTES)
    over = {"resolved_at_0": f"{day.now:%Y-%m-%d}", "resolved_at_1": f"{day.now + EVERY / 2:%H:%M:%S}"}
    write(console, the_only(), status="resolved", update="We gave up mail.", **over)
    day.play("d" * 10)
    assert the_only().status == "resolved"
    day.play("d" * 3)
    assert [one.status for one in Incident.objects.order_by("started_at")] == ["resolved", "investigating"]


def test_an_operator_does_not_open_a_second_one_of_the_same_part(day: PlatformDay, console: Client) -> None:
    day.play(FIVE_MINUTES + "u" * 140 + FIVE_MINUTES)
    first = Incident.objects.last()
    assert first
    form = {"title": "Again", "status": "investigating", "started_at_0": "2026-11-27", "started_at_1": "12:00"}
    answer = console.post(f"/admin/status/incident/{quote(first.pk)}/change/", form)
    assert b"This part has a newer open incident already" in answer.content


@pytest.mark.django_db(transaction=True)
def test_processes_that_look_at_once_open_one_incident(day: PlatformDay) -> None:
    for number in range(12):
        HealthSample.objects.create(at=BEGAN + number * EVERY, down=["runtime"])
    together = threading.Barrier(6)

    def one() -> None:
        together.wait()
        automatic.look(BEGAN + 11 * EVERY, now=BEGAN + 11 * EVERY)
        connection.close()

    threads = [threading.Thread(target=one) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert told(the_only()) == ["Our own checks found this. We are looking for the cause."]


def test_samples_of_the_future_are_forgotten_when_the_clock_is_right_again(day: PlatformDay) -> None:
    day.play("d" * 6)
    HealthSample.objects.create(at=day.now + timedelta(days=1), down=[])
    HealthSample.objects.create(at=day.now - timedelta(days=9), down=[])
    samples.forget(at=day.now)
    assert HealthSample.objects.count() == 6


@pytest.fixture
def with_updates(db: None) -> Incident:
    incident = Incident.objects.create(title="Mails are not sent", started_at=timezone.now(), opened_for="mail")
    for number in range(30):
        incident.updates.create(status="investigating", text=f"<b>News {number}</b>")
    incident.updates.create(status="investigating", text="It works again.", automatic=True)
    return incident


@pytest.mark.django_db(transaction=True)
def test_the_page_shows_the_newest_updates_in_the_readers_language_and_as_text(
    with_updates: Incident, api: APIClient
) -> None:
    fresh_look()
    html = api.get("/ru/status/page").content.decode()
    assert "<b>News" not in html
    shown = [one.text for one in Page(html).all("li") if "News" in one.text]
    assert len(shown) == 19
    assert "News 29" in shown[0]
    assert "News 11" in shown[-1]
    assert "Снова работает" in html
    assert "Письма не отправляются" in html
