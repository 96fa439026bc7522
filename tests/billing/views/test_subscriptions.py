"""`/subscriptions`, its quote, `/payment-providers`: input, output, and the order of refusals."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from accounts.models import User
from agents.models import Agent, Transition
from agents.running import lifecycle
from billing import corrections
from billing.models import Subscription
from billing.vocabulary import Provider
from tests.agents.conftest import MakeAgent, signed_in
from tests.billing.conftest import NOON, Clock, Pay, licence
from tests.billing.licences import KEY
from tests.doubles.gumroad_server import GumroadServer

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture
def mine(clock: Clock, owner: User, catalog: None) -> APIClient:
    return signed_in(owner)


def post(client: APIClient, agent_id: str, **changes: Any) -> Any:
    body = {"agentId": agent_id, "period": "monthly", "provider": "gumroad", "licenseKey": KEY} | changes
    return client.post(
        "/subscriptions", {name: value for name, value in body.items() if value is not ...}, format="json"
    )


def message(answer: Any) -> str:
    return str(answer.json()["message"])


def test_internal_is_always_403(agent: Agent, mine: APIClient) -> None:
    for agent_id in (agent.pk, "agt_unknown"):
        assert post(mine, agent_id, provider="internal", licenseKey=...).status_code == 403


@pytest.mark.parametrize(
    ("provider", "where"), [("usdt", "/crypto/orders"), ("usdc", "/crypto/orders"), ("stars", "/stars/orders")]
)
def test_what_is_paid_by_an_order_is_400_naming_where_to_order(
    agent: Agent, mine: APIClient, provider: str, where: str
) -> None:
    answer = post(mine, agent.pk, provider=provider)
    assert (answer.status_code, message(answer)) == (400, f"provider: '{provider}' is paid by an order: POST {where}")


def test_an_unknown_provider_is_told_those_that_sell_by_key(agent: Agent, mine: APIClient) -> None:
    wrong: list[Any] = ["paypal", ["usdt"], {}]
    for provider in wrong:
        answer = post(mine, agent.pk, provider=provider)
        assert (answer.status_code, "usdt, " in message(answer)) == (400, False)
    assert message(post(mine, agent.pk, provider="paypal")) == "provider: 'paypal' is not one of gumroad, lemonsqueezy"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"agentId": ...}, "agentId"),
        ({"agentId": 7}, "agentId"),
        ({"period": ...}, "period"),
        ({"period": "weekly"}, "period"),
        ({"tier": "huge"}, "tier"),
        ({"provider": ...}, "provider"),
        ({"provider": "paypal"}, "provider"),
        ({"licenseKey": ...}, "licenseKey"),
        ({"licenseKey": "  "}, "licenseKey"),
        ({"licenseKey": 7}, "licenseKey"),
        ({"licenseKey": "x" * 201}, "licenseKey"),
    ],
)
def test_a_field_that_is_wrong_is_named_before_anything_is_asked(
    agent: Agent, mine: APIClient, gumroad: GumroadServer, changes: dict[str, Any], field: str
) -> None:
    answer = post(mine, changes.pop("agentId", agent.pk), **changes)
    assert (answer.status_code, message(answer).split(":")[0]) == (400, field)
    assert gumroad.asked == []


def test_for_another_accounts_agent_it_is_403_and_for_none_404_before_any_call(
    agent: Agent, mine: APIClient, stranger: User, make_agent: MakeAgent, gumroad: GumroadServer
) -> None:
    theirs, gone = make_agent(stranger), make_agent()
    lifecycle.delete(gone, actor="user:x")
    for agent_id, status in ((theirs.pk, 403), (gone.pk, 404), ("agt_" + "0" * 24, 404), ("junk", 404)):
        assert post(mine, agent_id).status_code == status
        assert mine.get("/subscriptions", {"agentId": agent_id}).status_code == status
        query = {"agentId": agent_id, "period": "monthly", "provider": "gumroad"}
        assert mine.get("/subscriptions/quote", query).status_code == status
    assert gumroad.asked == []


def test_what_is_not_configured_is_400_after_fields_and_ownership(
    agent: Agent, mine: APIClient, stranger: User, make_agent: MakeAgent, settings: Any
) -> None:
    settings.GUMROAD_PRODUCTS = {}
    assert post(mine, make_agent(stranger).pk).status_code == 403
    answer = post(mine, agent.pk)
    assert (answer.status_code, "coming soon" in message(answer)) == (400, True)


def test_without_a_credential_nothing_is_told(api: APIClient, agent: Agent) -> None:
    for path in ("/subscriptions", "/subscriptions/quote"):
        assert api.get(path).status_code == 401
    assert post(api, agent.pk).status_code == 401
    assert api.post("/subscriptions/sub_1/cancel").status_code == 401


def test_an_idempotency_key_gives_the_first_answer_again(agent: Agent, mine: APIClient, gumroad: GumroadServer) -> None:
    gumroad.sell(KEY)
    body = {"agentId": agent.pk, "period": "monthly", "provider": "gumroad", "licenseKey": KEY}
    first, second = (
        mine.post("/subscriptions", body, format="json", headers={"Idempotency-Key": "k"}) for _ in range(2)
    )
    assert (second.json(), second["Idempotent-Replayed"]) == (first.json(), "true")


def test_the_snapshot_of_what_was_bought_has_the_fields_of_a_tier_alone(
    agent: Agent, mine: APIClient, gumroad: GumroadServer
) -> None:
    gumroad.sell(KEY)
    query = {"agentId": agent.pk, "period": "monthly", "provider": "gumroad"}
    quoted = mine.get("/subscriptions/quote", query).json()["quote"]
    bought = post(mine, agent.pk).json()["subscription"]
    tiny = next(tier for tier in mine.get("/tiers").json()["tiers"] if tier["id"] == "tiny")
    assert quoted["tierSnapshot"] == bought["tierSnapshot"] == tiny


def test_the_list_shows_keys_to_their_owner_alone(
    agent: Agent, mine: APIClient, clock: Clock, stranger: User, pay: Pay
) -> None:
    pay(agent, provider=Provider.GUMROAD, licence=licence(NOON.replace(month=12), key=KEY))
    clock.go(clock.now - NOON)
    assert [row["licenseKey"] for row in mine.get("/subscriptions").json()["subscriptions"]] == [KEY]
    assert signed_in(stranger).get("/subscriptions").json() == {"subscriptions": []}


def test_the_list_is_newest_first_and_in_pages(agent: Agent, mine: APIClient, make_agent: MakeAgent, pay: Pay) -> None:
    others = [make_agent() for _ in range(2)]
    for number, one in enumerate([agent, *others]):
        pay(one, str(number))
    every = [row["id"] for row in mine.get("/subscriptions").json()["subscriptions"]]
    assert every == list(Subscription.objects.order_by("-created_at", "-id").values_list("pk", flat=True))
    first = mine.get("/subscriptions", {"limit": 2})
    following = first["Link"].split(">")[0].removeprefix("<")
    second = mine.get(following)
    pages = [row["id"] for answer in (first, second) for row in answer.json()["subscriptions"]]
    assert (pages, "Link" in second) == (every, False)
    found = mine.get("/subscriptions", {"agentId": agent.pk}).json()["subscriptions"]
    assert [row["agentId"] for row in found] == [agent.pk]
    for query in ({"cursor": "junk"}, {"limit": 0}, {"limit": 1001}):
        assert mine.get("/subscriptions", query).status_code == 400


def test_the_list_takes_a_fixed_number_of_queries(
    agent: Agent, mine: APIClient, make_agent: MakeAgent, pay: Pay
) -> None:
    counts = []
    for number, one in enumerate([agent, make_agent(), make_agent()]):
        pay(one, str(number))
        with CaptureQueriesContext(connection) as queries:
            mine.get("/subscriptions")
        counts.append(len(queries))
    assert counts[1:] == counts[1:2] * 2


def test_canceling_keeps_it_usable_until_its_end_and_is_done_once(agent: Agent, mine: APIClient, pay: Pay) -> None:
    pay(agent)
    row = Subscription.objects.get()
    answers = [mine.post(f"/subscriptions/{row.pk}/cancel").json()["subscription"] for _ in range(2)]
    assert answers[0] == answers[1]
    assert (answers[0]["status"], answers[0]["canceledAt"]) == ("canceled", "2026-11-21T12:00:00Z")
    assert mine.get(f"/agents/{agent.pk}/term").json()["term"]["mode"] == "paid"


def test_what_has_expired_or_was_granted_cannot_be_canceled(
    agent: Agent, mine: APIClient, clock: Clock, pay: Pay
) -> None:
    pay(agent)
    corrections.refund(agent, reason="asked", actor="operator:x", now=clock.now)
    corrections.grant(agent, reason="ours", actor="operator:x", now=clock.now)
    for row in Subscription.objects.all():
        assert mine.post(f"/subscriptions/{row.pk}/cancel").status_code == 409


def test_anothers_subscription_is_404(agent: Agent, mine: APIClient, stranger: User, pay: Pay) -> None:
    pay(agent)
    for id_ in (Subscription.objects.get().pk, "sub_" + "0" * 24, "junk"):
        assert signed_in(stranger).post(f"/subscriptions/{id_}/cancel").status_code == 404


def test_a_quote_needs_no_provider_and_changes_nothing(agent: Agent, mine: APIClient) -> None:
    before = Transition.objects.count()
    query = {"agentId": agent.pk, "period": "annual", "provider": "usdt", "tier": "small"}
    answer = mine.get("/subscriptions/quote", query)
    quote = answer.json()["quote"]
    assert quote == {
        "agentId": agent.pk,
        "tier": "small",
        "period": "annual",
        "provider": "usdt",
        "priceUsd": quote["tierSnapshot"]["annualUsd"],
        "paidTill": "2027-11-28T12:00:00Z",
        "tierSnapshot": quote["tierSnapshot"],
    }
    assert (Subscription.objects.count(), Transition.objects.count()) == (0, before)


def test_a_quote_counts_what_is_paid_already(agent: Agent, mine: APIClient, pay: Pay) -> None:
    pay(agent)
    query = {"agentId": agent.pk, "period": "monthly", "provider": "usdc"}
    assert mine.get("/subscriptions/quote", query).json()["quote"]["paidTill"] == "2027-01-28T12:00:00Z"
    query["provider"] = "gumroad"
    assert mine.get("/subscriptions/quote", query).json()["quote"]["paidTill"] == "2027-01-20T12:00:00Z"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"period": ...}, "period"),
        ({"provider": "internal"}, "provider"),
        ({"tier": "huge"}, "tier"),
        ({"agentId": ...}, "agentId"),
    ],
)
def test_a_query_that_is_wrong_is_named(agent: Agent, mine: APIClient, changes: dict[str, Any], field: str) -> None:
    query = {"agentId": agent.pk, "period": "monthly", "provider": "usdc"} | changes
    answer = mine.get("/subscriptions/quote", {name: value for name, value in query.items() if value is not ...})
    assert (answer.status_code, message(answer).split(":")[0]) == (400, field)


def test_providers_are_active_with_their_settings_and_soon_without(api: APIClient, gumroad: GumroadServer) -> None:
    found = {one["id"]: one for one in api.get("/payment-providers").json()["paymentProviders"]}
    assert set(found) == {"gumroad", "lemonsqueezy", "usdt", "usdc", "stars", "stripe"}
    assert found["gumroad"] == {
        "id": "gumroad",
        "label": "Card (Gumroad)",
        "buyUrls": {"tiny": "https://shop.example/l/tiny"},
        "note": found["gumroad"]["note"],
        "status": "active",
    }
    assert found["lemonsqueezy"]["status"] == "soon"
