from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import quote
from django.test import Client
from django.urls import reverse

from accounts.models import User
from agents.models import Agent
from tests.operating import act, send
from tests.webhooks.conftest import MakeAgent, delivery_of, emit, hook_of
from webhooks import hooks
from webhooks.models import Delivery, State

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
URL = "https://receiver.example/hook?token=sesame"


@pytest.fixture
def operator(db: None) -> User:
    return User.objects.create_superuser("operator@example.com", "a long password")


@pytest.fixture
def console(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


@pytest.fixture
def subscribed(make_agent: MakeAgent) -> Agent:
    return make_agent(URL)


@pytest.mark.parametrize("model", ["hook", "event", "delivery"])
def test_each_list_opens_searches_and_costs_no_query_per_row(
    console: Client, make_agent: MakeAgent, model: str, django_assert_max_num_queries: object
) -> None:
    for _ in range(8):
        emit(make_agent(URL), now=NOON)
    with django_assert_max_num_queries(10):  # type: ignore[operator]  # a context manager of pytest-django
        page = console.get(reverse(f"admin:webhooks_{model}_changelist"), {"q": "agt_"})
    assert page.status_code == 200
    assert page.content.count(b"agt_") >= 8


def test_no_page_shows_a_secret_or_the_query_of_a_receiver(console: Client, subscribed: Agent) -> None:
    _, secret = hooks.install(subscribed, url=URL, now=NOON)
    hook, event = hook_of(subscribed), emit(subscribed)
    for name, key in (("hook", hook.pk), ("event", event.pk), ("delivery", event.pk)):
        for page in (
            reverse(f"admin:webhooks_{name}_changelist"),
            reverse(f"admin:webhooks_{name}_change", args=[quote(key)]),
        ):
            shown = console.get(page)
            assert shown.status_code == 200
            assert secret not in shown.content.decode()
            assert str(hook.previous_secret) not in shown.content.decode()
            assert "sesame" not in shown.content.decode()


@pytest.mark.parametrize("model", ["hook", "event", "delivery"])
def test_nothing_can_be_added_changed_or_deleted(console: Client, subscribed: Agent, model: str) -> None:
    event = emit(subscribed)
    key = hook_of(subscribed).pk if model == "hook" else event.pk
    assert console.get(reverse(f"admin:webhooks_{model}_add")).status_code == 403
    assert console.post(reverse(f"admin:webhooks_{model}_change", args=[quote(key)]), {}).status_code == 403
    assert (
        console.post(reverse(f"admin:webhooks_{model}_delete", args=[quote(key)]), {"post": "yes"}).status_code == 403
    )


DELIVERIES = "/admin/webhooks/delivery/"


def test_an_operator_sends_a_delivery_again_and_is_named(console: Client, operator: User, subscribed: Agent) -> None:
    event = emit(subscribed)
    Delivery.objects.update(state=State.FAILED, attempts=3, finished_at=NOON)
    assert "Will be sent again" in act(console, DELIVERIES, "resend_deliveries", delivery_of(event))
    again = delivery_of(event)
    assert (again.state, again.resent_by) == (State.PENDING, f"operator:{operator.pk}")
    assert LogEntry.objects.get().object_id == event.pk


def test_what_is_still_being_delivered_is_not_sent_again(console: Client, subscribed: Agent) -> None:
    event = emit(subscribed)
    act(console, DELIVERIES, "resend_deliveries", delivery_of(event))
    assert delivery_of(event).resent_by == ""


def test_who_may_only_look_cannot_send_again(subscribed: Agent) -> None:
    emit(subscribed)
    looker = User.objects.create_user("looker@example.com", "a long password", is_staff=True)
    client = Client()
    client.force_login(looker)
    assert client.get(reverse("admin:webhooks_delivery_changelist")).status_code == 403


def test_a_delivery_s_page_sends_it_again_unless_it_is_on_its_way(console: Client, subscribed: Agent) -> None:
    delivery = delivery_of(emit(subscribed, now=NOON))
    page = reverse("admin:webhooks_delivery_change", args=[quote(delivery.pk)])
    (button,) = console.get(page).context["repairs"]
    assert (button.address, button.why_not) == ("", "It is being delivered.")
    Delivery.objects.update(state=State.FAILED, finished_at=NOON)
    (button,) = console.get(page).context["repairs"]
    send(console, console.get(button.address))
    assert delivery_of(delivery.event).state == State.PENDING
    Delivery.objects.update(state=State.FAILED, finished_at=NOON)
    hook_of(subscribed).delete()
    (button,) = console.get(page).context["repairs"]
    assert button.why_not == "Its agent has no webhook."
