"""A licence key for an agent: through the API, against servers that speak the providers' protocols."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import User
from accounts.throttling import Limit
from agents.models import Agent
from billing import licences
from billing.errors import LicenceInUse
from billing.licences import Key
from billing.models import Payment, Subscription
from billing.providers import registry
from billing.vocabulary import PaymentKind, Period, Provider, SubscriptionStatus
from config.errors import RateLimited, ServiceError
from tests.agents.conftest import MakeAgent, settle, signed_in
from tests.billing.conftest import DAY, NOON, Clock, Pay, tick
from tests.billing.licences import KEY, LEMON, ONCE, SMALL, confirmed, licence_of, post
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.lemonsqueezy_server import LemonSqueezyServer

pytestmark = pytest.mark.django_db

ACTIVE, CANCELED, EXPIRED = SubscriptionStatus.ACTIVE, SubscriptionStatus.CANCELED, SubscriptionStatus.EXPIRED
MONTH_END = NOON.replace(month=12)


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture
def mine(clock: Clock, owner: User, catalog: None) -> APIClient:
    return signed_in(owner)


def test_a_key_pays_for_its_agent(agent: Agent, mine: APIClient, gumroad: GumroadServer) -> None:
    gumroad.sell(KEY)
    answer = post(mine, agent)
    assert answer.status_code == 200, answer.json()
    row = licence_of(agent)
    assert answer.json() == {
        "subscription": {
            "id": row.pk,
            "userId": agent.user_id,
            "agentId": agent.pk,
            "tier": "tiny",
            "period": "monthly",
            "status": "active",
            "createdAt": "2026-11-21T12:00:00Z",
            "priceUsd": 5,
            "currentPeriodEnd": "2026-12-21T12:00:00Z",
            "provider": "gumroad",
            "licenseKey": KEY,
            "canceledAt": None,
            "tierSnapshot": {name: kept for name, kept in (row.tier_snapshot or {}).items() if name != "period"},
            "expiredAt": None,
        }
    }
    ledger = Payment.objects.get()
    assert (ledger.external_id, ledger.kind) == ("membership-1:2026-12-21", PaymentKind.PAYMENT)
    assert (ledger.amount, ledger.currency) == (Decimal(500), "usd")
    assert confirmed(agent) == [
        {
            "subscriptionId": row.pk,
            "provider": "gumroad",
            "tier": "tiny",
            "period": "monthly",
            "paidTill": "2026-12-21T12:00:00Z",
        }
    ]


def test_the_agent_gets_the_plan_that_the_key_pays_for(agent: Agent, mine: APIClient, gumroad: GumroadServer) -> None:
    gumroad.sell(KEY, SMALL, purchase={"variants": "(Medium)", "price": 2000})
    assert post(mine, agent).json()["subscription"]["tier"] == "medium"
    agent.refresh_from_db()
    assert (agent.tier, agent.paid) == ("medium", True)


def test_the_same_key_again_changes_nothing_however_it_is_spelled(
    agent: Agent, mine: APIClient, gumroad: GumroadServer
) -> None:
    sale = gumroad.sell(KEY)
    gumroad.sales[KEY.lower()] = sale
    first = post(mine, agent).json()["subscription"]
    assert post(mine, agent, f"  {KEY.lower()} ").json()["subscription"]["id"] == first["id"]
    assert (Payment.objects.count(), len(confirmed(agent)), sale.uses) == (1, 1, 1)


def test_an_unknown_key_is_refused_and_nothing_is_stored(agent: Agent, mine: APIClient, gumroad: GumroadServer) -> None:
    answer = post(mine, agent)
    assert (answer.status_code, answer.json()["error"]) == (400, "BAD_REQUEST")
    assert answer.json()["message"].startswith("licenseKey: ")
    assert not Subscription.objects.exists()
    gumroad.sell(KEY)
    assert post(mine, agent).status_code == 200


@pytest.mark.parametrize("changes", [{"store": 2}, {"product": 11}, {"variant": 999}])
def test_a_key_of_another_store_is_refused_and_no_activation_is_consumed(
    agent: Agent, mine: APIClient, lemon: LemonSqueezyServer, changes: dict[str, Any]
) -> None:
    licence = lemon.sell(LEMON, **{"variant": 101} | changes)
    assert post(mine, agent, LEMON, provider="lemonsqueezy").status_code == 400
    assert licence.instances == {}
    assert not Subscription.objects.exists()


def test_a_key_on_a_second_agent_is_refused_in_the_same_words_whoever_has_it(
    agent: Agent, mine: APIClient, stranger: User, make_agent: MakeAgent, gumroad: GumroadServer
) -> None:
    gumroad.sell(KEY)
    post(mine, agent)
    asked = len(gumroad.asked)
    answers = [post(mine, make_agent()), post(signed_in(stranger), make_agent(stranger))]
    assert [answer.status_code for answer in answers] == [409, 409]
    assert answers[0].json() == answers[1].json()
    assert len(gumroad.asked) == asked


def test_another_key_of_the_same_purchase_is_refused_too(
    agent: Agent, mine: APIClient, make_agent: MakeAgent, gumroad: GumroadServer
) -> None:
    sale = gumroad.sell(KEY)
    post(mine, agent)
    gumroad.sales["ANOTHER"] = sale
    assert post(mine, make_agent(), "ANOTHER").status_code == 409
    assert Subscription.objects.count() == 1


@pytest.mark.sampled
@pytest.mark.django_db(transaction=True)
def test_fifty_threads_that_activate_one_key_make_one_subscription_and_one_event(
    owner: User,
    make_agent: MakeAgent,
    lemon: LemonSqueezyServer,
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
) -> None:
    monkeypatch.setattr(licences, "ACTIVATIONS", Limit(name="many", times=1000, seconds=60))
    settings.WAITING_CALLS_PER_ACCOUNT = 50
    agents = [settle(make_agent()) for _ in range(2)]
    licence = lemon.sell(LEMON)
    now = agents[0].created_at
    lemon.licences[LEMON].expires_at = (now + 30 * DAY).isoformat()
    key = Key(provider=Provider.LEMONSQUEEZY, text=LEMON)
    start = threading.Barrier(16)

    def activate(number: int) -> str:
        if number < 16:
            start.wait(30)
        try:
            return licences.activate(agents[number % 2], key, tier=None, period=None, actor="user:x", now=now).pk
        except ServiceError as error:
            return type(error).__name__
        finally:
            connection.close()

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(activate, range(50)))
    row = Subscription.objects.get()
    assert set(answers) <= {row.pk, "LicenceInUse", "LicenceRefused"}
    assert (row.status, row.instance) == (ACTIVE, "instance-1")
    assert (Payment.objects.count(), sum(len(confirmed(agent)) for agent in agents)) == (1, 1)
    assert licence.instances == {"instance-1": row.agent_id}
    assert lemon.made == 1


@pytest.mark.django_db(transaction=True)
def test_a_race_that_is_lost_burns_no_activation(make_agent: MakeAgent, lemon: LemonSqueezyServer) -> None:
    """While the key is being verified, another agent activates it completely."""
    first, second = make_agent(), make_agent()
    now = first.created_at
    licence = lemon.sell(LEMON, limit=5, expires_at=(now + 30 * DAY).isoformat())
    key = Key(provider=Provider.LEMONSQUEEZY, text=LEMON)

    def another_is_quicker(path: str) -> None:
        lemon.before = lambda path: None
        licences.activate(first, key, tier=None, period=None, actor="user:x", now=now)
        connection.close()

    lemon.before = another_is_quicker
    with pytest.raises(LicenceInUse):
        licences.activate(second, key, tier=None, period=None, actor="user:x", now=now)
    assert list(licence.instances.values()) == [first.pk]
    assert (Payment.objects.count(), Subscription.objects.count()) == (1, 1)


@pytest.mark.parametrize("how", [503, 429, b"<html>", "cut"])
def test_a_provider_that_does_not_answer_is_503_and_nothing_is_stored(
    agent: Agent, mine: APIClient, gumroad: GumroadServer, how: Any
) -> None:
    gumroad.sell(KEY)
    gumroad.fail(how)
    answer = post(mine, agent)
    assert (answer.status_code, answer.json()["error"]) == (503, "INTERNAL")
    assert answer["Retry-After"]
    assert not Subscription.objects.exists()


def test_a_test_purchase_is_refused(agent: Agent, mine: APIClient, gumroad: GumroadServer) -> None:
    gumroad.sell(KEY, purchase={"test": True})
    assert "test purchase" in post(mine, agent).json()["message"]


@pytest.mark.parametrize(
    "changes", [{"without_purchase": True}, {"recurrence": "quarterly"}, {"purchase": {"refunded": True}}]
)
def test_what_is_not_paid_or_not_ours_to_sell_is_400_without_an_activation(
    agent: Agent, mine: APIClient, gumroad: GumroadServer, changes: dict[str, Any]
) -> None:
    sale = gumroad.sell(KEY, **changes)
    assert post(mine, agent).status_code == 400
    assert (sale.uses, Subscription.objects.count()) == (0, 0)


@pytest.mark.parametrize(("changes", "field"), [({"tier": "small"}, "tier"), ({"period": "annual"}, "period")])
def test_another_tier_or_period_than_the_key_pays_for_is_400_naming_the_field(
    agent: Agent, mine: APIClient, gumroad: GumroadServer, changes: dict[str, Any], field: str
) -> None:
    sale = gumroad.sell(KEY)
    answer = post(mine, agent, **changes)
    assert (answer.status_code, answer.json()["message"].split(":")[0]) == (400, field)
    assert (sale.uses, Subscription.objects.count()) == (0, 0)


def test_a_plan_too_small_for_the_engine_is_refused(
    make_agent: MakeAgent, mine: APIClient, gumroad: GumroadServer
) -> None:
    agent = make_agent(engine="hermes", tier="small")
    sale = gumroad.sell(KEY)
    assert post(mine, agent).status_code == 400
    assert (sale.uses, Subscription.objects.count()) == (0, 0)


def test_an_agent_that_has_a_licence_takes_no_other(agent: Agent, mine: APIClient, gumroad: GumroadServer) -> None:
    gumroad.sell(KEY)
    sale = gumroad.sell("SECOND")
    post(mine, agent)
    assert post(mine, agent, "SECOND").status_code == 409
    assert sale.uses == 0


def test_a_rotated_key_takes_the_place_of_the_old_one(agent: Agent, mine: APIClient, gumroad: GumroadServer) -> None:
    gumroad.sell(KEY)
    first = post(mine, agent).json()["subscription"]
    gumroad.rotate(KEY, "NEW-KEY")
    second = post(mine, agent, "NEW-KEY").json()["subscription"]
    assert second == first | {"licenseKey": "NEW-KEY"}
    assert len(confirmed(agent)) == 1
    assert Payment.objects.filter(kind=PaymentKind.KEY_MOVE).count() == 1


def test_what_was_paid_before_is_added_to_the_licence(
    agent: Agent, mine: APIClient, pay: Pay, gumroad: GumroadServer
) -> None:
    gumroad.sell(KEY)
    pay(agent)
    answer = post(mine, agent).json()["subscription"]
    assert answer["currentPeriodEnd"] == "2027-01-20T12:00:00Z"


def test_at_most_ten_activations_an_hour(agent: Agent, mine: APIClient, gumroad: GumroadServer) -> None:
    statuses = [post(mine, agent, f"GUESS-{number}").status_code for number in range(11)]
    assert statuses == [400] * 10 + [429]
    key = Key(provider=Provider.GUMROAD, text=KEY)
    with pytest.raises(RateLimited):
        licences.activate(agent, key, tier=None, period=Period.MONTHLY, actor="user:x", now=NOON)


def test_what_is_sold_once_is_canceled_from_the_start(
    agent: Agent, mine: APIClient, clock: Clock, gumroad: GumroadServer
) -> None:
    gumroad.sell(KEY, ONCE, recurrence=None)
    answer = post(mine, agent, period="annual").json()["subscription"]
    assert (answer["status"], answer["currentPeriodEnd"]) == ("canceled", "2027-11-21T12:00:00Z")
    assert tick(agent, clock).paid


def test_a_key_is_in_no_log_and_no_timeline(
    agent: Agent, mine: APIClient, gumroad: GumroadServer, caplog: pytest.LogCaptureFixture
) -> None:
    gumroad.sell(KEY)
    caplog.set_level("DEBUG")
    post(mine, agent)
    gumroad.fail(503)
    post(mine, agent)
    assert KEY not in caplog.text
    assert not agent.transitions.filter(note__contains=KEY).exists()
    with connection.cursor() as cursor:
        cursor.execute("select license_key from billing_subscription")
        assert KEY not in str(cursor.fetchall())


class Died(Exception):
    pass


class DyingAt:
    """Makes the nth statement of a connection fail, as if the process had been killed there."""

    def __init__(self, nth: int) -> None:
        self.left = nth

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise Died
        return execute(sql, params, many, context)


@pytest.mark.sampled
@pytest.mark.django_db(transaction=True)
def test_a_death_between_any_two_statements_loses_and_doubles_nothing(
    make_agent: MakeAgent, gumroad: GumroadServer
) -> None:
    agent = make_agent()
    now = agent.created_at
    gumroad.sell(KEY, sold_at=now.isoformat())
    verdict = registry.licence_driver(Provider.GUMROAD).verify(KEY, now=now)
    sold = licences.Sold(key=Key(provider=Provider.GUMROAD, text=KEY), verdict=verdict)
    deaths = 0
    while True:
        try:
            with connection.execute_wrapper(DyingAt(deaths + 1)):
                licences.receive(agent.pk, sold, actor="user:x", now=now)
            break
        except Died:
            deaths += 1
            assert (Subscription.objects.count(), Payment.objects.count(), confirmed(agent)) == (0, 0, [])
    row = licence_of(agent)
    assert deaths > 15
    assert (row.status, row.check_at, len(confirmed(agent))) == (ACTIVE, now + DAY, 1)
