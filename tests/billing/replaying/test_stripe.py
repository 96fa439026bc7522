"""A charged card: reported in many threads at once, and by processes that are killed on the way."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from billing.models import CardSubscription, Payment, StripeEvent
from billing.providers.stripe import inbox
from config import clock
from tests.billing.conftest import NOON
from tests.billing.providers.stripe.conftest import ordered
from tests.billing.providers.stripe.shop import CALLBACK
from tests.billing.replaying.conftest import Act
from tests.billing.replaying.scenes import MINUTE, ProviderWorld, paid_once, sound, told
from tests.billing.replaying.stage import WorkOrder
from tests.doubles.stripe_protocol import Json, signature
from tests.doubles.stripe_server import SECRET, StripeDouble, wire

pytestmark = pytest.mark.unmeasured

THREADS = 5
PROCESS = WorkOrder(rule="billing.providers.stripe.inbox.process_due")
LIKELY = 60  # the payment has at least this many points


@pytest.fixture(autouse=True)
def right_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the test's clock, because the database's clock is different."""
    monkeypatch.setattr(clock, "now", timezone.now)


@pytest.fixture
def connections(world: ProviderWorld) -> Iterator[None]:
    """A database connection for each thread."""
    pool = connection.pool  # type: ignore[attr-defined]  # of Django's backend for PostgreSQL
    before = pool.max_size
    pool.resize(1, THREADS * 4)
    yield
    pool.resize(1, before)


def at_once(act: object, times: int = THREADS) -> list[object]:
    start = threading.Barrier(times)

    def acted(_: int) -> object:
        start.wait(60)
        try:
            return act()  # type: ignore[operator]  # each test gives a function
        finally:
            connection.close()

    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(acted, range(times)))


@pytest.fixture
def events(world: ProviderWorld, stripe: StripeDouble) -> list[Json]:
    """The events of a card that was charged, not yet sent to us."""
    stripe.waiting = True
    agent = world.agent()
    stripe.world.pay(ordered(agent, world.clock).session_id)
    return list(stripe.world.events)


def in_process(event: Json) -> WorkOrder:
    """A webhook, for a separate process."""
    body = wire(event)
    return WorkOrder(
        path=CALLBACK, raw=body, headers={"Stripe-Signature": signature(body, secret=SECRET, at=int(NOON.timestamp()))}
    )


@pytest.mark.usefixtures("connections")
def test_the_same_event_in_many_threads_at_once_pays_once(events: list[Json], stripe: StripeDouble) -> None:
    paid = next(one for one in events if one["type"] == "invoice.paid")
    assert at_once(lambda: stripe.tell(paid)) == [200] * THREADS
    assert StripeEvent.objects.count() == 1
    at_once(lambda: inbox.process_due(now=timezone.now()))
    card = CardSubscription.objects.get()
    paid_once(card.agent)
    sound(NOON + MINUTE)


@pytest.mark.usefixtures("connections")
def test_all_events_in_many_threads_at_once_pay_once(events: list[Json], stripe: StripeDouble) -> None:
    def tell_and_work() -> None:
        for event in random.sample(events, len(events)):
            stripe.tell(event)
            inbox.process_due(now=timezone.now())

    at_once(tell_and_work)
    card = CardSubscription.objects.get()
    paid_once(card.agent)
    sound(NOON + MINUTE)


def is_killed(events: list[Json], act: Act, points: Sequence[int]) -> None:
    """Kill a process at each point; the next process finishes its work once the claim has expired."""
    later = NOON + timedelta(minutes=3)
    all_of_it = [*map(in_process, events), PROCESS]
    for point in points:
        (end,) = act(all_of_it, now=NOON, die_at=point)
        assert end.died, (point, end)
    (end,) = act([*all_of_it, PROCESS], now=later)
    assert set(end.answers) <= {0, 200}
    assert not StripeEvent.objects.filter(due_at__isnull=False).exists()
    card = CardSubscription.objects.get()
    assert Payment.objects.filter(agent=card.agent, unapplied="").count() == 1
    told(card.agent, 1)
    sound(later)


@pytest.mark.sampled
def test_a_process_that_is_killed_somewhere_loses_and_doubles_nothing(events: list[Json], act: Act) -> None:
    is_killed(events, act, [random.randint(1, LIKELY)])


@pytest.mark.slow
@pytest.mark.parametrize("point", range(1, LIKELY, 2))
def test_a_process_that_is_killed_anywhere_loses_and_doubles_nothing(events: list[Json], act: Act, point: int) -> None:
    is_killed(events, act, [point])
