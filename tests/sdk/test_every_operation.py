"""The Python SDK drives the API of a running service operation by operation; what it does not drive is named here."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from accounts import sessions
from accounts.models import User
from agentpods import Agentpods, types
from agentpods.errors import ConflictError
from agents.models import Agent
from tests.agents.conftest import PERSONA, GatewayOf
from tests.doubles.receiver import Receiver
from tests.sdk.conftest import LiveService

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.unmeasured]

OWL: types.DraftPersonaRequest = {
    "name": "Owl", "tagline": "Company", "forWho": "People", "does": ["Talks"], "category": "social", "tier": "tiny",
    "soul": "You are Owl.",
}  # fmt: skip
ARTICLE: types.WriteArticleRequest = {
    "slug": "night", "title": "Night", "lang": "en", "status": "published", "body": "# Owl"
}  # fmt: skip
CALLS = type(Agentpods("http://127.0.0.1", "x").api)
# Why no test of the SDK drives them. Tests of their own drive them over HTTP.
NEED_MONEY = {  # a paid order, which a provider or a chain makes; tests/billing
    "create_crypto_order", "get_crypto_order", "create_stars_order", "get_stars_order", "create_stripe_order",
    "get_stripe_order", "open_stripe_portal", "get_invoice", "get_invoice_pdf", "create_subscription",
    "cancel_subscription", "create_subscription_move", "get_subscription_next_plan", "set_subscription_next_plan",
    "delete_subscription_next_plan", "get_subscription_quote",
}  # fmt: skip
NEED_BACKUPS = {  # a place of backups and a runtime that copies; tests/agents/views
    "create_agent_backup", "get_agent_backup", "delete_agent_backup", "restore_agent_backup",
}  # fmt: skip
NEED_SERVERS = {"test_agent_mcp_server"}  # a server of MCP in the pod; tests/agents/views
NEED_REVIEW = {"get_persona_article"}  # an article of a persona that an operator has published; tests/catalog


@pytest.fixture
def driven(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The operations that ended without an error."""
    ended: set[str] = set()
    for name in operations():
        monkeypatch.setattr(CALLS, name, _noted(name, getattr(CALLS, name), ended))
    return ended


def operations() -> set[str]:
    """The methods of `pods.api` that are one operation each."""
    named = {name for name, _ in inspect.getmembers(CALLS, inspect.isfunction)}
    return {name for name in named if not name.startswith(("_", "each_of_", "stream_"))}


def _noted(name: str, method: Callable[..., Any], ended: set[str]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*given: Any, **named: Any) -> Any:
        answer = method(*given, **named)
        ended.add(name)
        return answer

    return call


@pytest.fixture
def person(service: LiveService, owner: User, worker: None) -> Iterator[Agentpods]:
    """The client of somebody who has signed in: only they make keys."""
    token = sessions.start(owner, attribution=None, now=timezone.now())[1]
    with Agentpods(service.url, token) as client:
        yield client


@pytest.mark.sampled
def test_the_sdk_drives_every_operation_that_needs_nobody_outside(
    person: Agentpods, driven: set[str], receiver: Receiver, gateway_of: GatewayOf, settings: Settings
) -> None:
    settings.SHOW_DEV_CODES = True
    _reads_what_there_is(person)
    made = person.agents.create(personaId=PERSONA, tier="tiny", wait=30)["agent"]["id"]
    gateway_of(Agent.objects.get(pk=made))
    _talks(person, made)
    _configures(person, made)
    _is_told(person, made, receiver)
    _writes_personas(person)
    _keeps_accounts(person)
    _lives(person, made)
    _signs_in(person)
    assert operations() - driven == NEED_MONEY | NEED_BACKUPS | NEED_SERVERS | NEED_REVIEW


def _reads_what_there_is(pods: Agentpods) -> None:
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


def _talks(pods: Agentpods, agent: str) -> None:
    api = pods.api
    assert api.chat_with_agent(agent, {"message": "hi"})["reply"] == "you said hi"
    (model,) = api.list_agent_models(agent)["data"]
    assert api.get_agent_model(agent, model["id"])["id"] == model["id"]
    said = api.complete_agent_chat(agent, {"model": model["id"], "messages": [{"role": "user", "content": "ho"}]})
    assert "you said ho" in str(said)
    assert api.get_agent_liveness(agent)["liveness"]["reachable"]
    assert api.create_agent_ticket(agent)["ticket"]["url"]
    assert api.test_agent_talk(agent)["talkTest"]["hops"]
    api.get_agent_memory(agent)
    api.get_agent_logs(agent)


def _configures(pods: Agentpods, agent: str) -> None:
    api = pods.api
    assert api.update_agent(agent, {"name": "Bo"})["agent"]["name"] == "Bo"
    assert api.set_agent_channels(agent, {"channels": ["web"]})["agent"]["channels"] == ["web"]
    api.set_agent_tools(agent, {"enabled": [], "mcpServers": []})
    assert api.set_agent_a2a(agent, {"enabled": True, "listed": True})["agent"]["a2aToken"]
    assert isinstance(api.list_a2a_agents()["agents"], list)
    assert api.set_agent_domain(agent, {"domain": "bo.example.org"})["agent"]["domain"] == "bo.example.org"
    assert api.check_domain(domain="other.example.org") is not None
    api.delete_agent_domain(agent)
    key = api.update_agent_llm_key(agent, {"provider": "openai", "key": "sk-0123456789abcdef"})
    assert key["agent"]["llmKeyHash"]
    api.delete_agent_llm_key(agent)
    assert api.get_agent(agent)["agent"]["llmKeyHash"] is None
    assert api.set_agent_egress(agent, {"allowList": "on", "hosts": ["example.com"]})["egress"]["allowList"] == "on"
    token = api.set_agent_egress_secret(
        agent, "TOKEN", {"hosts": ["example.com"], "header": "X", "value": "0123456789"}
    )
    assert token["egress"]["secrets"][0]["name"] == "TOKEN"
    api.delete_agent_egress_secret(agent, "TOKEN")
    assert api.get_agent_egress(agent)["egress"]["secrets"] == []
    assert api.get_agent_egress_log(agent)["log"]["rows"] == []
    assert api.set_agent_limits(agent, {"usdPerDay": 5})["limits"]["usdPerDay"] == 5
    assert api.get_agent_limits(agent)["limits"]["usdPerDay"] == 5
    assert api.get_agent_usage(agent)["usage"]["rows"] == []


def _is_told(pods: Agentpods, agent: str, receiver: Receiver) -> None:
    api = pods.api
    assert api.set_agent_webhook(agent, {"url": receiver.url})["webhook"]["secret"]
    assert api.test_agent_webhook(agent)["delivery"]["ok"]
    delivery = api.list_agent_webhook_deliveries(agent)["deliveries"][0]["id"]
    assert api.redeliver_agent_webhook_delivery(agent, delivery)
    api.delete_agent_webhook(agent)
    assert api.list_agent_events(agent)["events"]
    assert api.list_events()["events"]
    assert api.explain_agent(agent)["explanation"]["status"]
    api.set_agent_replay(agent, {"recording": True})
    assert isinstance(api.list_agent_replay(agent)["replay"], list)
    api.delete_agent_replay(agent)


def _writes_personas(pods: Agentpods) -> None:
    api = pods.api
    assert api.set_author({"name": "Ann"})["author"]["name"] == "Ann"
    assert api.get_author()["author"]
    owl = api.create_persona(OWL)["persona"]["id"]
    assert api.update_persona(owl, {"tagline": "Warm"})["persona"]["tagline"] == "Warm"
    assert owl in {one["id"] for one in api.list_own_personas()["personas"]}
    assert api.get_own_persona(owl)["persona"]["id"] == owl
    assert api.create_persona_article(owl, ARTICLE)["article"]["slug"] == "night"
    assert api.get_own_persona_article(owl, "night")["article"]["slug"] == "night"
    assert api.update_persona_article(owl, "night", {"title": "Late"})["article"]["title"] == "Late"
    api.delete_persona_article(owl, "night")
    api.publish_persona(owl)
    api.unpublish_persona(owl)
    api.delete_persona(owl)


def _keeps_accounts(pods: Agentpods) -> None:
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


def _lives(pods: Agentpods, agent: str) -> None:
    api = pods.api
    assert api.list_agent_backups(agent)["backups"] == []
    assert api.get_agent_term(agent)["term"]["mode"] == "trial"
    assert api.get_agent_quota(agent)
    assert api.pause_agent(agent, wait=30)["agent"]["status"] == "stopped"
    with pytest.raises(ConflictError):
        api.chat_with_agent(agent, {"message": "hi"})
    assert api.resume_agent(agent, wait=30)["agent"]["status"] == "running"
    assert api.rebuild_agent(agent, wait=30)["agent"]["id"] == agent
    assert [one["id"] for one in api.list_agents()["agents"]] == [agent]
    api.delete_agent(agent, wait=30)
    assert api.list_agents()["agents"] == []


def _signs_in(pods: Agentpods) -> None:
    code = pods.api.request_sign_in_code({"email": "new@example.com"})["devCode"]
    assert code
    assert (
        pods.api.verify_sign_in_code({"email": "new@example.com", "code": code})["user"]["email"] == "new@example.com"
    )
    pods.api.end_session()
