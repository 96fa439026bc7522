"""Which calls a key may make. Every operation of the URL conf is visited with each kind of key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import keys
from accounts.authentication import BearerAuthentication
from accounts.keys import KeyLimits
from accounts.models import ApiKey, User
from accounts.scopes import Scope
from config import operation_names
from config.api import ApiViewSet
from tests.accounts.conftest import with_token


def names(text: str) -> list[str]:
    return text.split()


# What each operation needs. A key for one agent may not make those of `OF_ALL_AGENTS`.
READ = names(
    """
    listAgents getAgent listAgentBackups listAgentEvents explainAgent getAgentLiveness getAgentLogs
    getAgentMemory getAgentQuota getAgentUsage getAgentLimits getKeyLimits getAgentTerm listAgentModels getAgentModel
    listAgentReplay
    getAgentEgress getAgentEgressLog
    listAgentWebhookDeliveries
    getBillingDetails listCryptoOrders getCryptoOrder checkDomain listEvents listInvoices getInvoice
    getInvoicePdf listKeys getAccount getAccountLimits getAuthor listOwnPersonas getOwnPersona getOwnPersonaArticle
    listStarsOrders getStarsOrder listStripeOrders getStripeOrder listSubscriptions getSubscriptionNextPlan
    getSubscriptionQuote createMcp createOauthMcp
    """
)
OPERATE = names(
    """
    createAgent updateAgent deleteAgent setAgentA2a createAgentBackup getAgentBackup deleteAgentBackup
    restoreAgentBackup deleteAgentReplay
    setAgentChannels chatWithAgent setAgentDomain deleteAgentDomain updateAgentLlmKey
    deleteAgentLlmKey testAgentMcpServer pauseAgent rebuildAgent resumeAgent testAgentTalk createAgentTicket
    setAgentTools completeAgentChat setAgentWebhook deleteAgentWebhook redeliverAgentWebhookDelivery
    testAgentWebhook createPersona updatePersona deletePersona createPersonaArticle updatePersonaArticle
    deletePersonaArticle publishPersona unpublishPersona
    """
)
PAY = names(
    """
    createCryptoOrder createStarsOrder createStripeOrder createSubscription cancelSubscription
    createSubscriptionMove setSubscriptionNextPlan deleteSubscriptionNextPlan
    """
)
FULL = [
    *("setAccountLimits", "setAgentLimits", "setAgentReplay", "setBillingDetails", "setAuthor", "openStripePortal"),
    *("setAgentEgress", "setAgentEgressSecret", "deleteAgentEgressSecret"),
]
SESSION = ["createKey", "deleteKey", "endSession", "setKeyLimits"]
OF_ALL_AGENTS = {
    "createAgent",
    "getAccountLimits",
    "getBillingDetails",
    "listInvoices",
    "getInvoice",
    "getInvoicePdf",
    "getAuthor",
    "listOwnPersonas",
    "getOwnPersona",
    "getOwnPersonaArticle",
    *(name for name in OPERATE if "Persona" in name),
}

Operation = tuple[str, str, str]  # its name, its method, its path with ids that nothing has

pytestmark = pytest.mark.django_db


def operations() -> list[Operation]:
    """Every operation of the URL conf that takes a token."""
    return list(_found())


def _found() -> Iterator[Operation]:
    for route, view in _views(get_resolver().url_patterns):
        for method, action in getattr(view, "actions", {}).items():
            if method != "head" and issubclass(view.cls, ApiViewSet) and _takes_token(view.cls, view.actions, method):
                path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", f"/{route}")
                name = operation_names.name_of(method.upper(), path, many=action == "list")
                yield name, method, re.sub(r"{\w+}", "none", path)


def _views(patterns: list[Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for one in patterns:
        if isinstance(one, URLResolver):
            yield from _views(one.url_patterns, f"{before}{one.pattern}")
        elif isinstance(one, URLPattern):
            yield f"{before}{one.pattern}", one.callback


def _takes_token(kind: type[ApiViewSet], actions: dict[str, str], method: str) -> bool:
    view = kind()
    view.action_map, view.action = actions, actions[method]
    return any(isinstance(one, BearerAuthentication) for one in view.get_authenticators())


def keyed(user: User, **limits: Any) -> APIClient:
    return with_token(keys.create(user, name="key", limits=KeyLimits(**limits), now=timezone.now())[1])


def is_refused(client: APIClient, operation: Operation) -> bool:
    """Whether the key may not make this call, whatever the call itself would say."""
    _, method, path = operation
    answer = getattr(client, method)(path, **({} if method == "get" else {"data": {}, "format": "json"}))
    refused = answer.status_code == 403 and answer.json()["message"].startswith("scope: ")
    if refused:
        assert set(answer.json()) == {"error", "message"}
        assert answer.json()["error"] == "FORBIDDEN"
        assert answer["Link"]
    return bool(refused)


@pytest.fixture
def user(db: None) -> User:
    return User.objects.create_user("ann@example.com")


def test_every_operation_stands_in_the_table() -> None:
    """Somebody who adds an endpoint decides here which scope it needs."""
    known = [*READ, *OPERATE, *PAY, *FULL, *SESSION]
    assert len(known) == len(set(known))
    assert {name for name, _, _ in operations()} == set(known)


def test_each_kind_of_key_makes_the_calls_of_its_scopes_and_no_others(user: User) -> None:
    clients = {scope: keyed(user, scopes={scope}) for scope in Scope}
    full = keyed(user)
    allowed = {Scope.READ: READ, Scope.OPERATE: [*READ, *OPERATE], Scope.PAY: [*READ, *PAY]}
    for operation in operations():
        for scope, client in clients.items():
            assert is_refused(client, operation) == (operation[0] not in allowed[scope]), (scope, operation)
        assert not is_refused(full, operation), operation


def test_a_key_with_all_scopes_makes_all_calls_but_those_about_the_account(user: User) -> None:
    client = keyed(user, scopes=set(Scope))
    refused = {operation[0] for operation in operations() if is_refused(client, operation)}
    assert refused == {*FULL, *SESSION}


def test_a_refusal_names_the_scope_and_the_way_to_it(user: User) -> None:
    answer = keyed(user, scopes={Scope.READ}).post("/crypto/orders", {}, format="json")
    assert (answer.status_code, answer.json()["error"]) == (403, "FORBIDDEN")
    assert 'needs the scope "pay", and your key has read' in answer.json()["message"]
    assert "POST /keys" in answer.json()["message"]
    assert answer["WWW-Authenticate"] == 'Bearer error="insufficient_scope", scope="pay"'


def test_head_is_a_read_and_an_unknown_method_is_refused(user: User) -> None:
    client = keyed(user, scopes={Scope.READ})
    assert client.head("/agents").status_code == 200
    assert client.options("/agents").status_code in {403, 405}
    assert client.post("/me").status_code in {403, 405}


def test_a_key_for_one_agent_makes_no_call_about_all_of_them(user: User) -> None:
    client = keyed(user, scopes=set(Scope))
    ApiKey.objects.update(agent_id="agt_" + "0" * 24)
    refused = {operation[0] for operation in operations() if is_refused(client, operation)}
    assert refused == {*FULL, *SESSION, *OF_ALL_AGENTS}
