"""Sums below the console's lists of money: for each currency alone, of all rows of the filter, or not told."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from billing.models import Deposit, DepositAddress, Payment, Sweep
from billing.vocabulary import PaymentKind
from config import list_search, long_lists, totals
from tests import operating
from tests.agents.conftest import MakeAgent
from tests.billing.conftest import NOON, Clock

pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]

PAYMENTS = "/admin/billing/payment/"
LARGE = Decimal(2**250)  # a float would lose the end of it


@pytest.fixture
def console() -> Client:
    return operating.staff("view_payment", "view_deposit", "view_sweep")


def row(agent: Any, name: str, kind: str, amount: int | None, currency: str, price: str | None = None) -> None:
    Payment.objects.create(
        provider="stripe",
        external_id=name,
        kind=kind,
        user=agent.user,
        agent=agent,
        amount=amount,
        currency=currency,
        price_usd=price,
        unapplied="nothing",
        actor="test",
        reason="r",
        at=NOON,
    )


def lines(answer: Any) -> list[list[str]]:
    found = answer.context["totals"].lines
    assert all(cell in answer.content.decode() for line in found for cell in line)
    return sorted(found)


def test_a_list_of_payments_sums_each_kind_and_currency_alone(
    clock: Clock, console: Client, make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, other = make_agent(), make_agent(User.objects.create_user("other@example.com"))
    row(agent, "a", PaymentKind.PAYMENT, 1999, "usd", "19.99")
    row(agent, "b", PaymentKind.PAYMENT, 1, "usd", "0.01")
    row(agent, "c", PaymentKind.PAYMENT, 500, "eur", "5.50")
    row(agent, "d", PaymentKind.REFUND, 1999, "usd")
    row(other, "e", PaymentKind.PAYMENT, None, "usd", "7.00")
    whole = lines(console.get(PAYMENTS))
    assert whole == [
        ["payment", "eur", "", "1", "5.00 EUR", "5.50 USD"],
        ["payment", "usd", "", "3", "20.00 USD (1 without an amount)", "27.00 USD"],
        ["refund", "usd", "", "1", "19.99 USD", ""],
    ]
    of_one = lines(console.get(PAYMENTS, {"q": other.pk}))
    assert of_one == [["payment", "usd", "", "1", "", "7.00 USD"]]
    # More rows than a list counts: no sum of a part, but a page with the sum of all.
    monkeypatch.setattr(long_lists, "MOST_COUNTED", 2)
    page = console.get(f"{PAYMENTS}?kind__exact=payment")
    assert "totals" not in page.context
    assert page.context["totals_at"] == f"{PAYMENTS}totals/?kind__exact=payment"
    assert lines(console.get(page.context["totals_at"])) == whole[:2]
    assert console.get(f"{PAYMENTS}totals/?nothing=1").status_code == 302
    assert operating.staff("view_deposit").get(f"{PAYMENTS}totals/").status_code == 403


def test_a_search_that_did_not_look_at_everybody_is_not_summed(
    clock: Clock, console: Client, make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one@many.example", "two@many.example"):
        row(make_agent(User.objects.create_user(name)), name, PaymentKind.PAYMENT, 100, "usd")
    assert lines(console.get(PAYMENTS, {"q": "many.example"})) == [["payment", "usd", "", "2", "2.00 USD", ""]]
    monkeypatch.setattr(list_search, "MOST_RELATED", 1)
    for place in (PAYMENTS, f"{PAYMENTS}totals/"):
        page = console.get(place, {"q": "many.example"})
        assert not page.context.get("totals")
        assert "nothing is summed" in page.content.decode()
    assert lines(console.get(PAYMENTS, {"q": "one@many.example"})) == [["payment", "usd", "", "1", "1.00 USD", ""]]


def test_coins_are_summed_to_the_last_unit_and_for_each_chain_alone(
    console: Client, make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = DepositAddress.objects.create(agent=make_agent(), account="a", hd_index=1, address="0x1", created_at=NOON)
    for number, (chain, amount) in enumerate([(1, LARGE), (1, Decimal(1)), (56, Decimal(7))]):
        fixed = {"tx_hash": f"0x{number}", "log_index": 0, "block": 1, "block_hash": "0x", "token": "0x"}
        of = {"deposit_address": at, "asset": "USDT", "sender": "0x", "seen_at": NOON}
        Deposit.objects.create(chain_id=chain, amount=amount, **fixed, **of)
    page = console.get("/admin/billing/deposit/")
    assert lines(page) == [["USDT", "1", "0x", "2", str(2**250 + 1)], ["USDT", "56", "0x", "1", "7"]]
    monkeypatch.setattr(totals, "MOST_LINES", 1)
    page = console.get("/admin/billing/deposit/")
    assert page.context["totals"].is_cut
    assert "There are more kinds" in page.content.decode()


def test_two_tokens_of_one_coin_are_not_added(console: Client, make_agent: MakeAgent) -> None:
    """Their decimals may differ. A sweep from an earlier release is of the only token that came to its address."""
    ann, ben = (
        DepositAddress.objects.create(
            agent=make_agent(User.objects.create_user(f"{name}@example.com")),
            account="a",
            hd_index=number,
            address=f"0x{number}",
            created_at=NOON,
        )
        for number, name in enumerate(("ann", "ben"))
    )
    for number, (at, token) in enumerate([(ann, "0xold"), (ben, "0xold"), (ben, "0xnew")]):
        fixed = {"tx_hash": f"0x{number}", "log_index": 0, "block": 1, "block_hash": "0x", "sender": "0x"}
        of = {"chain_id": 1, "asset": "usdt", "seen_at": NOON, "amount": 5}
        Deposit.objects.create(deposit_address=at, token=token, **fixed, **of)
    for number, (at, token) in enumerate([(ann, ""), (ben, "0xnew"), (ben, "")]):
        of = {"chain_id": 1, "asset": "usdt", "amount": number + 1, "at": NOON, "actor": "test"}
        Sweep.objects.create(deposit_address=at, token=token, tx_hash=f"0x{number}", log_index=0, **of)
    assert lines(console.get("/admin/billing/deposit/")) == [
        ["usdt", "1", "0xnew", "1", "5"],
        ["usdt", "1", "0xold", "2", "10"],
    ]
    assert lines(console.get("/admin/billing/sweep/")) == [
        ["usdt", "1", "", "1", "3"],
        ["usdt", "1", "0xnew", "1", "2"],
        ["usdt", "1", "0xold", "1", "1"],
    ]
