"""A web process with a wrong clock makes no decision about money; the caller may try again."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from accounts.models import User
from agents.models import Agent
from billing import providers, views
from billing.models import Order, Payment, StrayCharge, StripeEvent, Subscription
from config import clock
from tests import operating
from tests.doubles.telegram_payments_server import TelegramPayments, message_of
from tests.pages.account.visitor import Visitor, fields

pytestmark = pytest.mark.django_db

WRONG = [timedelta(days=7), -timedelta(minutes=2)]
CHANGES = {"create", "update", "partial_update", "destroy"}
ASKED: dict[str, dict[str, Any]] = {
    "/crypto/orders": {"asset": "usdc", "period": "monthly"},
    "/stars/orders": {"period": "monthly"},
    "/stripe/orders": {"period": "monthly"},
    "/subscriptions": {"provider": "gumroad", "period": "monthly", "licenseKey": "KEY-1"},
    "/subscriptions/sub_000000000000000000000000/cancel": {},
    "/subscriptions/sub_000000000000000000000000/move": {},
    "/subscriptions/sub_000000000000000000000000/next-plan": {"tier": "tiny"},
    "/payments/gumroad/callback": {"license_key": "KEY-1"},
    "/payments/lemonsqueezy/callback": {"license_key": "KEY-1"},
    "/payments/stripe/callback": {},
}


@contextmanager
def off(by: timedelta) -> Iterator[None]:
    with time_machine.travel(datetime.now(UTC) + by, tick=True):
        yield


def rows() -> list[int]:
    return [kind.objects.count() for kind in (Order, Payment, Subscription, StrayCharge, StripeEvent)]


@pytest.mark.parametrize("wrong", WRONG, ids=["ahead", "behind"])
@pytest.mark.parametrize("path", ASKED)
def test_what_is_asked_of_a_web_process_whose_clock_is_wrong_is_503(
    client: APIClient, running: Agent, path: str, wrong: timedelta
) -> None:
    with off(wrong):
        send = client.put if path.endswith("/next-plan") else client.post
        answer = send(path, {"agentId": running.pk, **ASKED[path]}, format="json")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "60"), answer.content
    assert answer.json()["message"].startswith("a server's clock is wrong, so nothing was done")
    assert rows() == [0] * 5


def test_stars_that_were_charged_are_told_again_and_count_once_the_clock_is_right(
    client: APIClient, running: Agent, telegram: TelegramPayments
) -> None:
    client.post("/stars/orders", {"agentId": running.pk, "period": "monthly"}, format="json")
    with off(timedelta(days=60)):
        assert not telegram.check_out(Order.objects.get().starsorder.invoice_link)["ok"], "nobody begins to pay"
        paid = message_of(telegram.charge(Order.objects.get().starsorder.invoice_link), "successful_payment")
        assert telegram.tell(paid) == 503
    assert Payment.objects.count() == 0
    assert telegram.tell(paid) == 200
    assert Payment.objects.get().subscription is not None


def test_a_page_that_is_sent_then_changes_nothing(owner: User, running: Agent, telegram: TelegramPayments) -> None:
    visitor, there = Visitor(owner), f"/renew/{running.pk}"
    page = visitor.open(f"{there}?tier={running.tier}&period=monthly&provider=stars")
    given = fields(page, page.one("form", action=f"{there}#bill", method="post"))
    with off(timedelta(minutes=2)):
        assert visitor.post(there, **given).status_code == 503
    assert rows() == [0] * 5
    assert visitor.post(there, **given).status_code == 303
    assert Order.objects.count() == 1


def test_an_operators_step_is_refused_and_says_why(admin_client: Client, running: Agent) -> None:
    with off(timedelta(minutes=2)):
        page = operating.act(admin_client, "/admin/billing/agentterm/", "credit", running, days=30)
    assert "server&#x27;s clock is wrong, so nothing was done" in page
    assert rows() == [0] * 5


def test_comparing_the_clocks_costs_one_statement_of_a_change_and_none_of_a_look(
    client: APIClient, running: Agent
) -> None:
    def compared(ask: Callable[[], object]) -> int:
        with CaptureQueriesContext(connection) as asked:
            ask()
        return sum("clock_timestamp" in one["sql"] for one in asked.captured_queries)

    clock._compared.at = None
    looks = [f"/agents/{running.pk}/term", "/subscriptions", "/crypto/orders", "/stars/orders", "/payment-providers"]
    assert [compared(lambda path=path: client.get(path)) for path in looks] == [0] * len(looks)  # type: ignore[misc]
    body = {"agentId": running.pk, "period": "monthly"}
    assert compared(lambda: client.post("/stars/orders", body, format="json")) == 1


def test_no_view_that_changes_something_takes_its_time_from_elsewhere() -> None:
    of_providers = Path(providers.__path__[0]).glob("*/views.py")
    for path in [*Path(views.__path__[0]).glob("*.py"), *of_providers]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name in CHANGES:
                assert "timezone.now" not in ast.unparse(node), f"{path.name}: {node.name}"


def test_no_agents_free_days_begin_by_a_wrong_clock(client: APIClient, running: Agent) -> None:
    body = {"personaId": running.persona_id, "tier": "tiny"}
    with off(-timedelta(days=7)):
        answer = client.post("/agents", body, format="json")
    assert (answer.status_code, answer.json()["message"][:26]) == (503, "a server's clock is wrong,")
    assert client.post("/agents", body, format="json").status_code == 200
