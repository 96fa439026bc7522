"""An agent's webhook on its page: set with a secret shown once, test, see the result of each event, send again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from agents.models import Agent
from pages.account.agents import webhook
from tests.doubles.receiver import Receiver, status
from tests.pages.account.visitor import Visitor, statements, text
from tests.pages.page import Page
from webhooks import delivery_loop, events, hooks
from webhooks.event_types import EventType
from webhooks.models import Delivery, Hook, Problem


@pytest.fixture
def visitor(owner: User) -> Visitor:
    return Visitor(owner)


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.WEBHOOK_ALLOWED_CIDRS = [ip_network("127.0.0.0/8")]
    with Receiver().listening() as listening:
        yield listening


def place(agent: Agent) -> str:
    return f"/account/agents/{agent.pk}/webhook"


def rows(page: Page) -> list[str]:
    found = [one for one in page.all("li") if any(up.attributes.get("id") == "deliveries" for up in one.within)]
    return [" ".join(one.text.split()) for one in found]


def drained(times: int = 1) -> None:
    """Send the deliveries that are due, and their retries without waiting."""
    for _ in range(times):
        Delivery.objects.filter(state="pending").update(next_attempt_at=timezone.now() - timedelta(seconds=1))
        delivery_loop.drain(ahead=timedelta(0))


@pytest.mark.usefixtures("transactional_db")
def test_it_is_set_tested_seen_to_fail_sent_again_and_removed(
    visitor: Visitor, running: Agent, receiver: Receiver
) -> None:
    shown = Page(visitor.send(visitor.open(place(running)), place(running), url=receiver.url).content.decode())
    secret = Hook.objects.get().secret
    assert shown.one("code", id="secret").text == secret
    assert secret not in visitor.client.get(place(running)).content.decode()

    receiver.answers(status(500))
    page = visitor.follow(visitor.send(shown, f"{place(running)}/test"))
    assert rows(page)[0].startswith("A test on its way")
    assert page.all("p", **{"data-look-again": ""})
    drained(3)
    page = visitor.open(place(running))
    assert rows(page)[0].startswith("A test failed")
    assert "3 attempts" in rows(page)[0]
    assert "answered 500" in rows(page)[0]
    assert not page.all("p", **{"data-look-again": ""})

    receiver.answers(status(204))
    delivery = Delivery.objects.get()
    visitor.follow(visitor.send(page, f"{place(running)}/deliveries/{delivery.pk}"))
    drained()
    page = visitor.open(place(running))
    assert rows(page)[0].startswith("A test delivered")
    assert "1 attempt" in rows(page)[0]
    assert "answered 204" in rows(page)[0]
    delivery.refresh_from_db()
    assert delivery.resent_by == f"user:{running.user_id}"

    visitor.follow(visitor.send(page, f"{place(running)}/remove"))
    assert not Hook.objects.exists()
    page = visitor.open(place(running))
    assert len(rows(page)) == 1
    assert not page.all("form", action=f"{place(running)}/test")


def test_why_there_was_no_answer_is_told_in_words(visitor: Visitor, running: Agent, receiver: Receiver) -> None:
    hooks.install(running, url=receiver.url, now=timezone.now())
    visitor.send(visitor.open(place(running)), f"{place(running)}/test")
    for problem in set(Problem.values) - {Problem.CANCELED}:
        Delivery.objects.update(state="failed", attempts=3, error=problem, finished_at=timezone.now())
        assert str(webhook.PROBLEMS[problem]) in rows(visitor.open(place(running)))[0]


def test_an_address_that_cannot_be_is_said(visitor: Visitor, running: Agent) -> None:
    for url in ("http://127.0.0.1/", "https://user:pw@example.com/", "example.com", "", "x" * 9000):
        answer = visitor.send(visitor.open(place(running)), place(running), url=url)
        assert answer.status_code == 400
        page = Page(answer.content.decode())
        assert "Events cannot be sent there." in text(page)
        assert page.one("input", id="url").attributes["value"] == url
    assert not Hook.objects.exists()


def test_what_cannot_be_done_is_said(visitor: Visitor, running: Agent, receiver: Receiver) -> None:
    hooks.install(running, url=receiver.url, now=timezone.now())
    page = visitor.open(place(running))
    events.emit(running, EventType.TEST, {"note": ""}, now=timezone.now())
    delivery = Delivery.objects.get()
    token = page.all("input", name="csrfmiddlewaretoken")[0].attributes["value"]
    early = visitor.post(f"{place(running)}/deliveries/{delivery.pk}", csrfmiddlewaretoken=token)
    assert early.status_code == 409
    assert "This event is still on its way." in text(Page(early.content.decode()))
    hooks.remove(running)
    answer = visitor.post(f"{place(running)}/test", csrfmiddlewaretoken=token)
    assert answer.status_code == 409
    assert "There is no webhook. Set one first." in text(Page(answer.content.decode()))
    junk = visitor.post(f"{place(running)}/deliveries/evt_junk", csrfmiddlewaretoken=token)
    assert junk.status_code == 404


def test_deliveries_have_pages_and_a_fixed_number_of_queries(
    visitor: Visitor, running: Agent, receiver: Receiver
) -> None:
    hooks.install(running, url=receiver.url, now=timezone.now())
    events.emit(running, EventType.TEST, {}, now=timezone.now())
    for_one = statements(visitor, place(running))
    for _ in range(24):
        events.emit(running, EventType.TEST, {}, now=timezone.now())
    page = visitor.open(place(running))
    assert len(rows(page)) == 20
    older = page.one("a", rel="next").attributes["href"].partition("#")[0]
    assert len(rows(visitor.open(older))) == 5
    assert statements(visitor, place(running)) == for_one
    assert visitor.client.get(f"{place(running)}?deliveries=junk").status_code == 400


def test_a_strangers_agent_is_not_there(running: Agent, stranger: User) -> None:
    other = Visitor(stranger).client
    for page in ("", "/test", "/remove", "/deliveries/evt_x"):
        assert other.get(place(running) + page).status_code == 404
