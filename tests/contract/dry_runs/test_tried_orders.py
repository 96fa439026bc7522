"""`?dryRun=true` of an order: our own checks and its price. No provider is asked, and nobody can pay what was tried."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import keys
from accounts.keys import KeyLimits
from accounts.models import User
from accounts.scopes import Scope
from agents.models import Agent
from billing.models import Coupon, Order
from billing.providers.crypto import addresses
from tests.accounts.conftest import with_token
from tests.billing.conftest import Clock
from tests.contract.dry_runs.test_dry_runs import everything
from tests.doubles.rpc_proxy import RpcProxy
from tests.doubles.stripe_server import StripeDouble
from tests.doubles.telegram_payments_server import TelegramPayments

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db]

TRIED = "?dryRun=true"
PLACES = ("/crypto/orders", "/stars/orders", "/stripe/orders")
SKIPPED = "payment (its provider)"


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


def ask(client: APIClient, path: str, agent: Agent, **wanted: Any) -> Any:
    asset = {"asset": "usdt"} if path.startswith("/crypto") else {}
    return client.post(path, {"agentId": agent.pk, "period": "monthly", **asset, **wanted}, format="json")


def indexes_taken() -> Any:
    """How many indexes of addresses were ever taken: a sequence is not rolled back."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT last_value, is_called FROM {addresses.SEQUENCE}")
        return cursor.fetchone()


def test_no_provider_is_asked_and_nothing_can_be_paid(
    client: APIClient, agent: Agent, stripe: StripeDouble, telegram: TelegramPayments, proxy: RpcProxy
) -> None:
    before = everything(), indexes_taken(), len(stripe.calls), len(telegram.calls), proxy.requests
    crypto, stars, card = (ask(client, f"{path}{TRIED}", agent) for path in PLACES)
    after = everything(), indexes_taken(), len(stripe.calls), len(telegram.calls), proxy.requests
    assert after == before
    for answer in (crypto, stars, card):
        assert (answer["Dry-Run-Cost"], answer["Dry-Run-Skipped"]) == ("usd=5.00", SKIPPED)
        assert answer.json()["order"]["tierSnapshot"]["period"] == "monthly"
    assert crypto.json()["payment"]["address"] == ""
    assert (crypto.json()["payment"]["amount"], stars.json()["order"]["amountStars"]) == ("5000000", 385)
    assert (stars.json()["payment"]["invoiceUrl"], card.json()["payment"]["checkoutUrl"]) == ("", "")


def test_a_pending_order_stays_and_its_checkout_stays_open(
    client: APIClient, agent: Agent, stripe: StripeDouble, telegram: TelegramPayments, clock: Clock
) -> None:
    first = ask(client, "/stripe/orders", agent).json()
    before, calls = everything(), len(stripe.calls)
    same = ask(client, f"/stripe/orders{TRIED}", agent)
    assert (same.json(), same.has_header("Dry-Run-Skipped")) == (first, False)
    for path in ("/stripe/orders", "/stars/orders"):
        other = ask(client, f"{path}{TRIED}", agent, tier="small")
        assert (other.status_code, other["Dry-Run-Cost"]) == (200, "usd=9.00"), other.content
        assert set(other["Dry-Run-Skipped"].split(", ")) == {SKIPPED, "pending order (its provider)"}
    assert everything() == before
    clock.go(timedelta(hours=2))
    late = ask(client, f"/stripe/orders{TRIED}", agent)
    assert late.json()["order"]["id"] != first["order"]["id"]
    assert (Order.objects.get().pk, Order.objects.get().status) == (first["order"]["id"], "pending")
    assert len(stripe.calls) == calls


def test_a_coupon_is_counted_in_and_not_used(client: APIClient, agent: Agent, telegram: TelegramPayments) -> None:
    Coupon.objects.create(code="ONCE", percent=20, uses=1)
    for _ in range(2):
        answer = ask(client, f"/stars/orders{TRIED}", agent, coupon="once")
        assert (answer.status_code, answer["Dry-Run-Cost"]) == (200, "usd=4.00")
    assert ask(client, "/stars/orders", agent, coupon="once").status_code == 200


@pytest.mark.usefixtures("stripe", "telegram", "coins")
def test_an_order_is_refused_in_the_same_words(client: APIClient, other: APIClient, agent: Agent, owner: User) -> None:
    limits = KeyLimits(scopes={Scope.PAY}, spend_limit_usd=Decimal("4.00"))
    poor = with_token(keys.create(owner, name="poor", limits=limits, now=timezone.now())[1])
    refused: list[tuple[APIClient, str, dict[str, Any], int]] = [
        *((client, path, {"tier": "huge"}, 400) for path in PLACES),
        *((client, path, {"agentId": "agt_none"}, 404) for path in PLACES),
        *((client, path, {"coupon": "NONE"}, 400) for path in PLACES),
        *((other, path, {}, 403) for path in PLACES),
        *((poor, path, {}, 403) for path in PLACES),
    ]
    for caller, path, wanted, status in refused:
        real, dry = (ask(caller, f"{path}{query}", agent, **wanted) for query in ("", TRIED))
        assert (real.status_code, dry.content) == (status, real.content), (path, wanted, real.content)


@pytest.mark.parametrize("path", PLACES)
def test_without_its_provider_it_is_refused_in_the_same_words(client: APIClient, agent: Agent, path: str) -> None:
    real, dry = (ask(client, f"{path}{query}", agent) for query in ("", TRIED))
    assert real.status_code >= 400
    assert (dry.status_code, dry.content) == (real.status_code, real.content)
