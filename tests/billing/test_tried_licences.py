"""`POST /subscriptions?dryRun=true`: all our own checks, and the seller of the key is not asked."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from agents.models import Agent
from billing.models import Subscription
from tests.agents.conftest import MakeAgent, settle
from tests.billing.conftest import NOON, Clock
from tests.billing.licences import KEY
from tests.doubles.gumroad_server import GumroadServer

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent(clock: Clock, running: Agent, gumroad: GumroadServer) -> Agent:
    gumroad.sell(KEY)
    return running


def post(client: APIClient, agent: Agent, *, dry: bool = True, **changes: Any) -> Any:
    body = {"agentId": agent.pk, "period": "monthly", "provider": "gumroad", "licenseKey": KEY} | changes
    return client.post(f"/subscriptions{'?dryRun=true' if dry else ''}", body, format="json")


def test_it_shows_what_the_key_would_make_and_asks_nobody(
    client: APIClient, agent: Agent, gumroad: GumroadServer
) -> None:
    dry = post(client, agent)
    assert (dry.status_code, dry["Dry-Run-Cost"]) == (200, "usd=0.00")
    assert dry["Dry-Run-Skipped"] == "licenseKey (its seller)"
    assert (gumroad.asked, Subscription.objects.count()) == ([], 0)
    real = post(client, agent, dry=False)
    same = ("agentId", "tier", "period", "status", "priceUsd", "provider", "licenseKey", "tierSnapshot")
    shown, made = dry.json()["subscription"], real.json()["subscription"]
    assert [shown[name] for name in same] == [made[name] for name in same]
    assert shown["currentPeriodEnd"] > NOON.isoformat()


def test_another_tier_is_shown_as_it_was_asked_for(client: APIClient, agent: Agent) -> None:
    shown = post(client, agent, tier="small", period="annual").json()["subscription"]
    assert (shown["tier"], shown["period"]) == ("small", "annual")


def test_a_key_that_pays_for_the_agent_already_changes_nothing(client: APIClient, agent: Agent) -> None:
    made = post(client, agent, dry=False).json()
    assert post(client, agent).json() == made
    others: tuple[dict[str, Any], ...] = ({"tier": "small"}, {"period": "annual"})
    for wanted in others:
        real, dry = post(client, agent, dry=False, **wanted), post(client, agent, **wanted)
        assert (real.status_code, dry.content) == (400, real.content)


@pytest.mark.usefixtures("lemon")
def test_what_our_own_rows_refuse_is_refused_in_the_same_words(
    client: APIClient, agent: Agent, make_agent: MakeAgent, gumroad: GumroadServer
) -> None:
    assert post(client, agent, dry=False).status_code == 200
    other = settle(make_agent())
    wrong: tuple[tuple[Agent, dict[str, Any]], ...] = (
        (other, {}),  # the key pays for another agent
        (other, {"agentId": "agt_none"}),
        (other, {"licenseKey": ""}),
        (other, {"provider": "stars"}),
        (other, {"provider": "internal"}),
    )
    for agent_, wanted in wrong:
        real, dry = (post(client, agent_, dry=dry, **wanted) for dry in (False, True))
        assert real.status_code >= 400
        assert (dry.status_code, dry.content) == (real.status_code, real.content), wanted


def test_a_second_key_beside_a_licence_is_refused(client: APIClient, agent: Agent, gumroad: GumroadServer) -> None:
    post(client, agent, dry=False)
    another = f"B{KEY[1:]}"
    gumroad.sell(another)
    real, dry = (post(client, agent, dry=dry, licenseKey=another) for dry in (False, True))
    assert (real.status_code, dry.content) == (409, real.content)
