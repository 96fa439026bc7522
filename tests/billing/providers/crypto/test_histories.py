"""Random histories of orders, transfers, sweeps and late scans: every unit belongs to one order or to an operator.

The model knows when each order was placed and what was sent after it. A transfer belongs to the newest order of its
coin at that moment, whether or not it has been seen. The full price pays the order; less waits for an operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from billing.errors import MoneySeen
from billing.models import CryptoOrder, Deposit, Payment
from billing.providers.crypto import configuration, settling, sweeps
from billing.providers.crypto.invariants import CHECKS
from billing.providers.crypto.settling import LATE
from billing.vocabulary import Asset, OrderStatus
from tests.at_length import examples
from tests.billing.conftest import DAY, Clock
from tests.billing.crypto import HOUR, Order, fresh, looked, settle, to, watch
from tests.doubles.chain import Chain, TokenContract

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db]

LONG = 2 * DAY
SENT = st.tuples(st.just("send"), st.sampled_from(list(Asset)), st.sampled_from([1, 4, 5, 6, 10]))
ORDERED = st.tuples(st.just("order"), st.sampled_from(list(Asset)), st.sampled_from(["tiny", "small"]))
PASSED = st.tuples(st.just("pass"), st.sampled_from([HOUR, 26 * HOUR, LONG, 5 * DAY]), st.booleans())
LOOKED = st.tuples(st.just("look"), st.booleans(), st.booleans())
SWEPT = st.tuples(st.just("sweep"), st.sampled_from(list(Asset)))
ACTS = st.lists(st.one_of(SENT, SENT, ORDERED, ORDERED, PASSED, LOOKED, SWEPT), min_size=4, max_size=14)


@dataclass
class Sent:
    tx_hash: str
    amount: int
    at: datetime
    order: str | None  # the newest order of this coin when the transfer was sent


@dataclass
class History:
    coins: Chain
    clock: Clock
    place: Order
    address: str
    newest: dict[str, str] = field(default_factory=dict)  # by coin
    sent: list[Sent] = field(default_factory=list)

    def send(self, asset: Asset, usd: int) -> None:
        token: TokenContract = getattr(self.coins, asset)
        amount = usd * 10**token.decimals
        self.sent.append(Sent(token.send(self.address, amount), amount, self.clock.now, self.newest.get(asset)))

    def order(self, asset: Asset, tier: str) -> None:
        """Place an order; refused while money for another order is on its way."""
        with suppress(MoneySeen):
            self.newest[asset] = self.place(asset=asset, tier=tier).pk

    def pass_(self, by: timedelta, seen: bool) -> None:
        """Let time pass, with or without scans. A long time always has scans: only new money stays unseen."""
        until = self.clock.now + by
        while self.clock.now < until:
            self.clock.go(min(LONG, until - self.clock.now))
            self.coins.mine(at=self.clock.now)
            looked(self.clock)
            if seen or by > LONG:
                self.look(final=True, late=True)

    def sweep(self, asset: Asset) -> None:
        """Sweep the whole balance of a coin, seen or not, and record the sweep once it is final."""
        token: TokenContract = getattr(self.coins, asset)
        if held := token.held(self.address):
            tx_hash = self.coins.sweep(token, self.address, held)
            self.coins.final()
            sweeps.record(tx_hash, reason="to the vault", actor="operator:x", now=self.clock.now)

    def look(self, final: bool, late: bool) -> None:
        if final:
            settle(self.coins, self.clock)
        if late:
            watch(self.clock)

    def end(self) -> None:
        for _ in range(2):
            self.look(final=True, late=True)
        self.pass_(LATE + 5 * DAY, seen=True)


@settings(
    max_examples=examples(15),
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@example(  # another order is placed before the first one's baseline is final, after its money came
    acts=[("send", Asset.USDT, 6), ("pass", HOUR, False), ("order", Asset.USDT, "small")]
)
@example(  # within the time of one block, with another order's baseline in between
    acts=[
        ("pass", HOUR, False),
        ("order", Asset.USDC, "tiny"),
        ("send", Asset.USDT, 1),
        ("send", Asset.USDT, 1),
        ("send", Asset.USDT, 5),
        ("order", Asset.USDT, "small"),
        ("order", Asset.USDC, "small"),
        ("pass", 5 * DAY, True),
        ("pass", 5 * DAY, False),
    ]
)
@given(acts=ACTS)
def test_every_unit_that_comes_is_one_orders_or_one_decision_of_an_operator(
    order: Order, coins: Chain, clock: Clock, acts: list[tuple[str, Asset, int]]
) -> None:
    with _undone(coins):
        first = order()
        history = History(coins, clock, order, to(first), {first.asset: first.pk})
        for name, *values in acts:
            clock.go(timedelta(seconds=10))  # no two orders have the same time
            getattr(history, {"pass": "pass_"}.get(name, name))(*values)
        history.end()
        _each_transfer_is_somebodys(history)
        for row in CryptoOrder.objects.all():
            _what_came_for_it_paid_it(row, [one for one in history.sent if one.order == row.pk])
        assert [found for check in CHECKS for found in check(clock.now)] == []


@contextmanager
def _undone(coins: Chain) -> Iterator[None]:
    """Restore the chain and the database afterwards. Time goes on, because the chain's clock cannot be set back."""
    snapshot = coins.snapshot()
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    coins.revert(snapshot)


def _each_transfer_is_somebodys(history: History) -> None:
    rows = {row.tx_hash: row for row in Deposit.objects.all()}
    assert sorted(rows) == sorted(one.tx_hash for one in history.sent)
    for one in history.sent:
        row = rows[one.tx_hash]
        assert row.amount == one.amount
        assert (row.order_id is None) != (row.unapplied == ""), "one of the two"
        assert row.order_id in {None, one.order}, "the order that was open when it was sent"


def _what_came_for_it_paid_it(row: CryptoOrder, sent: list[Sent]) -> None:
    in_time = sum(one.amount for one in sent if one.at < row.expires_at + LATE - LONG)
    paid = fresh(row).status == OrderStatus.PAID
    if in_time >= row.amount:
        assert paid, "all of its price came in time"
    if sum(one.amount for one in sent) < row.amount:
        assert not paid, "it was too little"
    counted = sum(one.amount for one in Deposit.objects.filter(order=row))
    assert counted == sum(one.amount or 0 for one in Payment.objects.filter(order=row)) == (row.credited if paid else 0)


def test_however_many_orders_an_account_replaces_one_of_them_is_read_again(
    order: Order, coins: Chain, clock: Clock
) -> None:
    """A stranger who places orders and sends tiny amounts again and again must not use up the nodes' time."""
    first = order(tier="tiny")
    for tier in ["small", "tiny"] * 3:
        clock.go(timedelta(seconds=1))
        order(tier=tier)
    coins.usdt.send(to(first), 1)
    coins.final()
    watch(clock)
    assert Deposit.objects.filter(order=None, unapplied="").count() == 1
    known = configuration.current()
    assert known is not None
    assert len(settling.replaced_with_money(known, now=clock.now)) == 1
