"""An operator moves a licence to another agent."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from rest_framework.test import APIClient

from agents.errors import NoSuchAgent
from agents.models import Agent
from billing import agent_terms, corrections, key_moves
from billing.errors import LicenceHeld, LicenceRefused, NothingToMove
from billing.models import Payment, Subscription
from billing.vocabulary import PaymentKind
from config.errors import Unavailable
from tests.agents.conftest import MakeAgent
from tests.billing.conftest import DAY, FREE_UNTIL, Clock, Pay, tick
from tests.billing.licences import KEY, LEMON, check, confirmed, post
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.lemonsqueezy_server import LemonSqueezyServer

pytestmark = pytest.mark.django_db

WHO = {"reason": "asked by mail", "actor": "operator:usr_1"}


@pytest.fixture
def mine(client: APIClient) -> APIClient:
    return client


@pytest.fixture
def agent(clock: Clock, make_agent: MakeAgent) -> Agent:
    return make_agent()


@pytest.fixture
def taker(agent: Agent, make_agent: MakeAgent) -> Agent:
    return make_agent()


def modes(*agents: Agent, clock: Clock) -> list[str]:
    return [str(agent_terms.term(one, now=clock.now).mode) for one in agents]


def test_the_other_agent_is_paid_and_grace_begins_for_the_one_it_leaves(
    agent: Agent, taker: Agent, mine: APIClient, clock: Clock, gumroad: GumroadServer
) -> None:
    gumroad.sell(KEY)
    post(mine, agent)
    key_moves.move(agent, to=taker.pk, now=clock.now, **WHO)
    assert modes(agent, taker, clock=clock) == ["grace", "paid"]
    row = Payment.objects.get(kind=PaymentKind.KEY_MOVE)
    assert (row.agent_id, row.reason, row.actor, row.amount) == (taker.pk, WHO["reason"], WHO["actor"], None)
    assert (len(confirmed(agent)), len(confirmed(taker))) == (1, 0)


def test_it_can_be_moved_back(
    agent: Agent, taker: Agent, mine: APIClient, clock: Clock, gumroad: GumroadServer
) -> None:
    gumroad.sell(KEY)
    post(mine, agent)
    key_moves.move(agent, to=taker.pk, now=clock.now, **WHO)
    key_moves.move(taker, to=agent.pk, now=clock.now, **WHO)
    assert modes(agent, taker, clock=clock) == ["paid", "grace"]
    assert Payment.objects.filter(kind=PaymentKind.KEY_MOVE).count() == 2
    assert (len(confirmed(agent)), len(confirmed(taker))) == (1, 0)


def test_the_only_activation_moves_along(
    agent: Agent, taker: Agent, mine: APIClient, clock: Clock, lemon: LemonSqueezyServer
) -> None:
    sold = lemon.sell(LEMON)
    post(mine, agent, LEMON, provider="lemonsqueezy")
    key_moves.move(agent, to=taker.pk, now=clock.now, **WHO)
    assert len(sold.instances) == 1
    assert [row.instance for row in Subscription.objects.filter(agent=taker)] == list(sold.instances)
    check(clock, DAY)
    tick(agent, clock)
    assert modes(agent, taker, clock=clock) == ["grace", "paid"]


def test_what_was_bought_beside_it_stays(
    agent: Agent, taker: Agent, mine: APIClient, clock: Clock, pay: Pay, gumroad: GumroadServer
) -> None:
    gumroad.sell(KEY)
    post(mine, agent)
    pay(agent, price_usd=Decimal(5))
    key_moves.move(agent, to=taker.pk, now=clock.now, **WHO)
    assert modes(agent, taker, clock=clock) == ["paid", "paid"]
    assert agent_terms.term(agent, now=clock.now).paid_till == FREE_UNTIL + 30 * DAY


def test_an_agent_without_a_licence_has_none_to_give(agent: Agent, taker: Agent, clock: Clock, pay: Pay) -> None:
    pay(agent)
    with pytest.raises(NothingToMove):
        key_moves.move(agent, to=taker.pk, now=clock.now, **WHO)


@pytest.mark.parametrize("to", ["agt_0123456789abcdef01234567", "", "junk", "itself"])
def test_it_moves_to_an_agent_that_is_there(
    agent: Agent, mine: APIClient, clock: Clock, gumroad: GumroadServer, to: str
) -> None:
    gumroad.sell(KEY)
    post(mine, agent)
    with pytest.raises(NoSuchAgent):
        key_moves.move(agent, to=agent.pk if to == "itself" else to, now=clock.now, **WHO)
    assert modes(agent, clock=clock) == ["paid"]


def test_it_moves_to_no_agent_that_has_a_licence(
    agent: Agent, taker: Agent, mine: APIClient, clock: Clock, gumroad: GumroadServer
) -> None:
    for one, key in ((agent, KEY), (taker, "SECOND")):
        gumroad.sell(key)
        post(mine, one, key)
    with pytest.raises(LicenceHeld):
        key_moves.move(agent, to=taker.pk, now=clock.now, **WHO)
    assert modes(agent, taker, clock=clock) == ["paid", "paid"]


def test_a_refunded_licence_is_not_moved(
    agent: Agent, taker: Agent, mine: APIClient, clock: Clock, gumroad: GumroadServer
) -> None:
    sale = gumroad.sell(KEY)
    post(mine, agent)
    sale.purchase["refunded"] = True
    with pytest.raises(LicenceRefused):
        key_moves.move(agent, to=taker.pk, now=clock.now, **WHO)
    assert Payment.objects.count() == 1


def test_without_an_answer_nothing_moves(
    agent: Agent, taker: Agent, mine: APIClient, clock: Clock, gumroad: GumroadServer, settings: Any
) -> None:
    gumroad.sell(KEY)
    post(mine, agent)
    settings.GUMROAD_URL = "http://127.0.0.1:1"
    with pytest.raises(Unavailable):
        key_moves.move(agent, to=taker.pk, now=clock.now, **WHO)
    assert modes(agent, taker, clock=clock) == ["paid", "trial"]


def test_a_refund_of_what_it_was_charged_ends_it_where_it_pays_now(
    agent: Agent, taker: Agent, mine: APIClient, clock: Clock, gumroad: GumroadServer
) -> None:
    gumroad.sell(KEY)
    post(mine, agent)
    key_moves.move(agent, to=taker.pk, now=clock.now, **WHO)
    charged = Payment.objects.get(kind=PaymentKind.PAYMENT)
    corrections.refund_payment(charged, now=clock.now, **WHO)
    assert "paid" not in modes(agent, taker, clock=clock)
    back = Payment.objects.get(kind=PaymentKind.REFUND)
    assert (back.refund_of, back.amount) == (charged, charged.amount)
    check(clock, DAY)
    assert "paid" not in modes(agent, taker, clock=clock), "whatever its provider says"
