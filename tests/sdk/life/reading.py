"""What anybody reads, and what an account reads that has bought nothing yet."""

from __future__ import annotations

from tests.agents.conftest import PERSONA
from tests.sdk.driving.client import DrivenClient


def reads_what_there_is(pods: DrivenClient) -> None:
    api = pods.api
    assert {one["id"] for one in api.list_tiers()["tiers"]} == {"tiny", "small", "medium", "large"}
    assert api.get_persona(PERSONA)["persona"]["id"] == PERSONA
    assert PERSONA in {one["id"] for one in api.list_personas()["personas"]}
    assert "pi" in {one["id"] for one in api.list_engines()["engines"]}
    assert api.list_models()["models"]
    assert api.list_llm_providers()["llmProviders"]
    assert api.list_tools(engine="hermes")["tools"]
    for read in (api.get_health, api.get_readiness, api.get_status, api.get_payment_providers, api.get_crypto):
        assert read()
    assert api.get_stars()
    assert "incidents" in api.list_status_incidents()
    for bought in (api.list_crypto_orders, api.list_stars_orders, api.list_stripe_orders, api.list_subscriptions):
        assert list(bought().values()) == [[]]
    assert api.list_invoices()["invoices"] == []
    assert {one["id"] for one in api.each_of_personas(limit=20)} >= {PERSONA}
    assert {tuple(one) for one in api.list_tiers(fields="id,name")["tiers"]} == {("id", "name")}
    assert api.list_personas(q="зззыы & qqxx?")["personas"] == []


def keeps_accounts(pods: DrivenClient) -> None:
    api = pods.api
    assert api.get_account()["user"]["email"] == "owner@example.com"
    assert api.set_billing_details({"name": "Ann", "country": "DE"})["billingDetails"]["country"] == "DE"
    assert api.get_billing_details()["billingDetails"]["name"] == "Ann"
    assert api.set_account_limits({"usdPerMonth": 9})["limits"]["usdPerMonth"] == 9
    assert api.get_account_limits()["limits"]["usdPerMonth"] == 9
    key = api.create_key({"name": "driver", "scopes": ["operate"]})["key"]["id"]
    assert api.set_key_limits(key, {"usdPerDay": 1})["limits"]["usdPerDay"] == 1
    assert api.get_key_limits(key)["limits"]["usdPerDay"] == 1
    assert key in {one["id"] for one in api.list_keys()["keys"]}
    api.delete_key(key)


def signs_in(pods: DrivenClient) -> None:
    """At the end, because the session of `pods` is over then."""
    api = pods.api
    code = api.request_sign_in_code({"email": "new@example.com"})["devCode"]
    assert code
    assert api.verify_sign_in_code({"email": "new@example.com", "code": code})["user"]["email"] == "new@example.com"
    api.end_session()
