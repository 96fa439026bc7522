"""After a cancellation the card is not charged again: we cancel at the provider, or tell the owner where, and check."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from agents.models import Agent, Transition
from billing import licence_cards
from billing.models import Subscription
from billing.vocabulary import Provider, SubscriptionStatus
from tests.billing.conftest import DAY, NOON, Clock
from tests.billing.licences import LEMON, activate, check, licence_of
from tests.doubles.gumroad_server import GumroadSale, GumroadServer
from tests.doubles.lemonsqueezy_server import API_KEY, LemonSqueezyLicence, LemonSqueezyServer

pytestmark = pytest.mark.django_db

ACTIVE, CANCELED = SubscriptionStatus.ACTIVE, SubscriptionStatus.CANCELED
QUARTER = timedelta(minutes=15)


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture
def sold(agent: Agent, clock: Clock, lemon: LemonSqueezyServer, settings: Any) -> LemonSqueezyLicence:
    settings.LEMONSQUEEZY_API_KEY = API_KEY
    licence = lemon.sell(LEMON)
    licence.charge("2026-11-21T12:00:00.000000Z")
    activate(agent, clock, LEMON, Provider.LEMONSQUEEZY)
    lemon.asked.clear()
    return licence


class KilledWorker(BaseException):
    """Ends the worker's process at this point."""


def dies(*_: object, **__: object) -> None:
    raise KilledWorker


def cancel(client: APIClient, agent: Agent) -> None:
    answer = client.post(f"/subscriptions/{licence_of(agent).pk}/cancel")
    assert (answer.status_code, answer.json()["subscription"]["status"]) == (200, "canceled")


def is_stopped(sold: LemonSqueezyLicence) -> bool:
    return sold.cancelled


def deleted(lemon: LemonSqueezyServer) -> int:
    return sum(asked.startswith("DELETE") for asked, _ in lemon.asked)


def test_who_cancels_is_charged_no_more(
    client: APIClient, agent: Agent, sold: LemonSqueezyLicence, clock: Clock, lemon: LemonSqueezyServer
) -> None:
    cancel(client, agent)
    licence_cards.stop(licence_of(agent).pk, now=clock.now)
    assert sold.cancelled
    row = licence_of(agent)
    assert (row.status, row.cancels_there, row.stop_card_at) == (CANCELED, True, None)
    assert row.current_period_end == NOON.replace(month=12), "what is paid stays"
    assert Transition.objects.filter(agent=agent, note__contains="charged no more").count() == 1
    check(clock, DAY)
    cancel(client, agent)
    licence_cards.stop_due()
    assert deleted(lemon) == 1


@pytest.mark.parametrize("failure", [500, 429, "cut", b"nonsense", 422])
def test_a_provider_that_is_away_is_told_again_until_it_has_done_it(
    client: APIClient, agent: Agent, sold: LemonSqueezyLicence, clock: Clock, lemon: LemonSqueezyServer, failure: Any
) -> None:
    cancel(client, agent)
    lemon.fail(failure)
    for _ in range(5):
        licence_cards.stop_due()
        clock.go(QUARTER)
    assert not is_stopped(sold)
    assert list(licence_cards.late(now=clock.now)) == [licence_of(agent)], "an operator sees it"
    lemon.work_again()
    clock.go(10 * QUARTER)
    licence_cards.stop_due()
    assert is_stopped(sold)
    assert not licence_cards.late(now=clock.now).exists()


def test_a_worker_that_dies_leaves_the_card_to_the_next(
    client: APIClient, agent: Agent, sold: LemonSqueezyLicence, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancel(client, agent)
    with monkeypatch.context() as patch:
        patch.setattr(licence_cards, "_note", dies)
        with pytest.raises(KilledWorker):
            licence_cards.stop_due()
    assert licence_of(agent).stop_card_at is not None
    clock.go(QUARTER)
    licence_cards.stop_due()
    assert (licence_of(agent).stop_card_at, licence_of(agent).cancels_there) == (None, True)


@pytest.mark.django_db(transaction=True)
def test_many_workers_stop_a_card_once(
    client: APIClient, agent: Agent, sold: LemonSqueezyLicence, lemon: LemonSqueezyServer
) -> None:
    cancel(client, agent)

    def stop() -> None:
        licence_cards.stop_due()
        connection.close()

    workers = [threading.Thread(target=stop) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert deleted(lemon) == 1


def test_without_the_sellers_key_the_owner_is_told_where(
    client: APIClient, agent: Agent, sold: LemonSqueezyLicence, settings: Any
) -> None:
    settings.LEMONSQUEEZY_API_KEY = ""
    cancel(client, agent)
    licence_cards.stop_due()
    where = licence_cards.where_to_stop(licence_of(agent))
    assert where is not None
    assert (where.provider, where.url) == ("Lemon Squeezy", "https://app.lemonsqueezy.com/my-orders")
    assert not sold.cancelled


def test_where_only_the_buyer_can_we_look_soon_and_daily_whether_it_happened(
    client: APIClient, agent: Agent, sale: GumroadSale, clock: Clock, gumroad: GumroadServer
) -> None:
    cancel(client, agent)
    licence_cards.stop_due()
    row = licence_of(agent)
    assert licence_cards.where_to_stop(row) is not None
    assert row.check_at == clock.now + QUARTER
    gumroad.asked.clear()
    check(clock, QUARTER)
    assert len(gumroad.asked) > 0
    assert licence_of(agent).check_at == clock.now + DAY
    sale.purchase = {"subscription_cancelled_at": "2026-12-21T12:00:00Z"}
    check(clock, DAY)
    row = licence_of(agent)
    assert (row.status, row.cancels_there, licence_cards.where_to_stop(row)) == (CANCELED, True, None)


def test_what_is_no_licence_has_no_card(client: APIClient, agent: Agent, clock: Clock, pay: Any) -> None:
    pay(agent)
    row = Subscription.objects.get(agent=agent)
    client.post(f"/subscriptions/{row.pk}/cancel")
    row.refresh_from_db()
    assert (row.status, row.stop_card_at, licence_cards.where_to_stop(row)) == (CANCELED, None, None)
