"""More coins than the order's price, and partial refunds: the excess is neither price nor revenue."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from itertools import permutations

import pytest
from django.test import Client
from pytest_django import Settings

from accounts.models import User
from billing import corrections, decisions, invariants, part_refunds
from billing.models import Coupon, Invoice, Payment, Span
from billing.reports.open_items import open_items
from tests.billing.conftest import DAY, FREE_UNTIL, Clock
from tests.billing.crypto import USD, Order, pays, settle, watch
from tests.doubles.chain import Chain

pytestmark = pytest.mark.django_db

WHO = {"reason": "asked", "actor": "operator:x"}


@pytest.mark.sampled
@pytest.mark.parametrize("acts", list(permutations(["part", "over", "all"])), ids="-".join)
def test_in_whatever_order_all_of_it_goes_back_the_books_end_at_nothing(
    order: Order, coins: Chain, clock: Clock, settings: Settings, admin_client: Client, acts: tuple[str, ...]
) -> None:
    """$4.00 for a month at $2.50: $1.00 is refunded, $1.50 was too much, and 20 of 30 days are refunded later."""
    settings.SELLER_NAME, settings.SELLER_ADDRESS, settings.SELLER_COUNTRY = "Pods Ltd", "1 Road", "IE"
    Coupon.objects.create(code="HALF", percent=50)
    pays(coins.usdt, order(coupon="HALF"), 4 * USD)
    settle(coins, clock)
    watch(clock)
    paid = Payment.objects.get(kind="payment")
    assert (int(paid.amount or 0), int(paid.over), Span.objects.get().usd) == (4 * USD, 3 * USD // 2, Decimal("2.5"))
    clock.at(FREE_UNTIL + 10 * DAY)
    for act in acts:
        if act == "part" and part_refunds.still_ours(paid) is not None:
            part_refunds.refund_part(paid, amount=USD, now=clock.now, **WHO)
            assert Span.objects.get().usd == Decimal("1.5")
        elif act == "over":
            decisions.send_back(paid, now=clock.now, **WHO)
        elif act == "all":
            corrections.refund_payment(paid, now=clock.now, **WHO)
            assert not Span.objects.filter(subscription__status="active").exists()
    admin_client.force_login(User.objects.get(is_superuser=True))
    answer = admin_client.get("/admin/billing/reports/", {"from": "2026-11", "to": "2026-12", "csv": "sales"})
    lines = list(csv.DictReader(io.StringIO(answer.content.decode())))
    sums = {
        name: sum(Decimal(line[name]) for line in lines)
        for name in ("received", "returned", "received_usd", "returned_usd", "kept_usd")
    }
    assert sums == {
        "received": Decimal(4),
        "returned": Decimal(4),
        "received_usd": Decimal("2.5"),
        "returned_usd": Decimal("2.5"),
        "kept_usd": Decimal(0),
    }
    notes = Invoice.objects.filter(kind="credit_note")
    assert sum(note.total_usd for note in notes) == Invoice.objects.get(kind="invoice").total_usd == Decimal("2.5")
    assert open_items() == []
    assert [finding for finding in invariants.broken(now=clock.now) if "step of its term" not in finding] == []
