"""Fifty threads, each with its own connection, confirm one payment at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.utils import timezone

from accounts.throttling import Limit
from billing import licences, payments
from billing.licences import Key
from billing.models import CryptoOrder, Payment, Subscription
from billing.payments import Receipt
from billing.providers.crypto import scanning, settling
from billing.vocabulary import Provider
from config import clock
from config.errors import ServiceError
from tests.billing.conftest import NOON, purchase
from tests.billing.replaying.scenes import (
    DUE,
    STEP,
    Make,
    ProviderWorld,
    Scene,
    crypto_paid,
    gumroad_bought,
    lemon_bought,
    paid_once,
    sound,
    stars_paid,
)
from tests.billing.replaying.stage import tell

THREADS = 50


@pytest.fixture(autouse=True)
def right_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the test's clock, because the database's clock is different."""
    monkeypatch.setattr(clock, "now", timezone.now)


@pytest.fixture(autouse=True)
def connections(world: ProviderWorld) -> Iterator[None]:
    """A database connection for each thread."""
    pool = connection.pool  # type: ignore[attr-defined]  # of Django's backend for PostgreSQL
    before = pool.max_size
    pool.resize(1, THREADS + 10)
    yield
    pool.resize(1, before)


def at_once(confirm: Callable[[int], object]) -> set[object]:
    """Run this in all threads at once. Returns the answers; for a refusal its class name."""
    start = threading.Barrier(THREADS)

    def confirmed(number: int) -> object:
        start.wait(60)
        try:
            return confirm(number)
        except ServiceError as refusal:
            return type(refusal).__name__
        finally:
            connection.close()

    with ThreadPoolExecutor(THREADS) as pool:
        return set(pool.map(confirmed, range(THREADS)))


def ends_well(scene: Scene) -> None:
    tell(STEP)
    scene.check()
    sound(scene.now)


def test_one_receipt_is_one_payment(world: ProviderWorld) -> None:
    agent = world.agent()
    receipt = Receipt(provider=Provider.USDC, external_id="cry_1", agent_id=agent.pk, purchase=purchase())
    rows = at_once(lambda _: payments.apply_payment(receipt, now=NOON).pk)
    assert rows == {Payment.objects.get().pk}
    tell(STEP)
    paid_once(agent)


@pytest.mark.sampled
@pytest.mark.parametrize("make", [gumroad_bought, lemon_bought])
def test_one_licence_is_one_subscription(world: ProviderWorld, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(licences, "ACTIVATIONS", Limit(name="many", times=1000, seconds=60))
    scene = make(world)
    agent, asked = scene.agents[0], scene.told[0].body
    key = Key(provider=Provider(asked["provider"]), text=asked["licenseKey"])

    def confirm(number: int) -> object:
        """Most threads are the owner's requests; every fifth is the provider's callback."""
        if number % 5 == 4:
            for one in (*scene.again[1][1:-1], DUE):
                tell(one)
            return "hinted"
        return licences.activate(agent, key, tier=None, period=None, actor="user:x", now=NOON).pk

    row_and_refusals = at_once(confirm)
    assert row_and_refusals - {"hinted", "Unavailable"} == {Subscription.objects.get().pk}
    ends_well(scene)


@pytest.mark.sampled
def test_one_charge_is_one_payment(world: ProviderWorld) -> None:
    scene = stars_paid(world)
    assert at_once(lambda _: tell(scene.told[0])) == {200}
    ends_well(scene)


def test_one_deposit_is_one_payment(chain_world: ProviderWorld) -> None:
    scene = crypto_paid(chain_world)
    order = CryptoOrder.objects.get()
    block = order.baseline_block + 1

    def confirm(number: int) -> None:
        """Most threads settle the order after reading the chain; every fifth scans the chain."""
        if number % 5 == 4:
            scanning.scan(now=NOON)
        else:
            settling.pay(order.pk, received=int(order.amount), block=block, now=NOON)

    assert at_once(confirm) == {None}
    for one in scene.again[1]:
        tell(one)
    ends_well(scene)
