"""Unpaid agents have limits: for each account, over all accounts, and in size. Operators can close creation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import User
from agents import creation, entitlement
from agents.models import Agent
from config.errors import ServiceError
from tests.agents.conftest import PERSONA, MakeAgent, settle
from tests.doubles.runtime import ScriptedRuntime
from tests.operating import choose_setting

pytestmark = pytest.mark.django_db

NEW = {"personaId": PERSONA, "tier": "small"}


def test_a_new_agent_is_at_most_the_trial_tier(client: APIClient, runtime: ScriptedRuntime, settings: Settings) -> None:
    settings.MAX_TRIAL_TIER = "small"
    refused = client.post("/agents", {**NEW, "tier": "medium"}, format="json")
    assert (refused.status_code, refused.json()["error"]) == (400, "BAD_REQUEST")
    assert refused.json()["message"] == (
        "tier: 'medium' is more than an unpaid agent may have; at most 'small' until it is paid for"
        " (POST /subscriptions)"
    )
    assert client.post("/agents", NEW, format="json").status_code == 200


def test_an_unpaid_agent_does_not_grow_past_the_trial_tier(
    client: APIClient, make_agent: MakeAgent, settings: Settings
) -> None:
    agent = settle(make_agent(tier="large"))
    settings.MAX_TRIAL_TIER = "small"
    page = f"/agents/{agent.pk}"
    assert client.patch(page, {"tier": "medium"}, format="json").status_code == 200, "smaller than it was"
    refused = client.patch(page, {"tier": "large"}, format="json")
    assert refused.status_code == 400
    assert refused.json()["message"].startswith("tier: 'large' is more than")
    assert client.patch(page, {"tier": "tiny"}, format="json").status_code == 200
    assert client.patch(page, {"tier": "small"}, format="json").status_code == 200


def test_closed_creates_answer_503_and_touch_nothing_else(client: APIClient, running: Agent) -> None:
    choose_setting("CREATES_OPEN", "0")
    refused = client.post("/agents", NEW, format="json")
    assert (refused.status_code, refused.json()["error"]) == (503, "INTERNAL")
    assert refused.json()["message"] == "agents: none can be created at the moment; existing ones are not affected"
    assert refused["Retry-After"] == "300"
    assert client.post("/agents", {**NEW, "tier": "huge"}, format="json").status_code == 400, (
        "a wrong field comes first"
    )
    assert client.post(f"/agents/{running.pk}/rebuild").status_code == 200
    choose_setting("CREATES_OPEN", None)
    assert client.post("/agents", NEW, format="json").status_code == 200


def test_a_closed_create_is_tried_anew_under_its_idempotency_key(client: APIClient, runtime: ScriptedRuntime) -> None:
    choose_setting("CREATES_OPEN", "0")
    assert client.post("/agents", NEW, format="json", HTTP_IDEMPOTENCY_KEY="k").status_code == 503
    choose_setting("CREATES_OPEN", "1")
    assert client.post("/agents", NEW, format="json", HTTP_IDEMPOTENCY_KEY="k").status_code == 200


def test_all_accounts_together_have_so_many_free_agents(
    client: APIClient, stranger: User, make_agent: MakeAgent, settings: Settings
) -> None:
    settings.MAX_FREE_AGENTS_TOTAL = 2
    theirs = make_agent(user=stranger)
    assert client.post("/agents", NEW, format="json").status_code == 200
    refused = client.post("/agents", NEW, format="json")
    assert (refused.status_code, refused.json()["error"]) == (503, "INTERNAL")
    assert "all free places of the platform are taken" in refused.json()["message"]
    entitlement.grant(theirs, until=None)
    assert client.post("/agents", NEW, format="json").status_code == 200, "a paid agent leaves its place"


@pytest.mark.django_db(transaction=True)
def test_of_many_accounts_that_create_at_once_only_so_many_get_a_place(
    catalog: None, runtime: ScriptedRuntime, settings: Settings
) -> None:
    settings.MAX_FREE_AGENTS_TOTAL = 3
    users = [User.objects.create_user(f"u{number}@example.com") for number in range(8)]
    new = creation.NewAgent(persona_id=PERSONA, tier="tiny")
    checked = [(user, creation.checked(user, new)) for user in users]  # each of them sees a free place

    def create(number: int) -> str:
        user, wanted = checked[number]
        try:
            creation.create(user, wanted, actor="user:x")
        except ServiceError as refusal:
            return type(refusal).__name__
        finally:
            connection.close()
        return "created"

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(create, range(8)))
    assert sorted(outcomes) == ["NoFreePlaceLeft"] * 5 + ["created"] * 3
    assert Agent.objects.count() == 3


def test_without_a_limit_over_all_accounts_no_lock_is_taken(
    owner: User, catalog: None, runtime: ScriptedRuntime, settings: Settings
) -> None:
    settings.MAX_TRIALS = 0
    wanted = creation.checked(owner, creation.NewAgent(persona_id=PERSONA, tier="tiny"))
    with CaptureQueriesContext(connection) as queries:
        creation.create(owner, wanted, actor="user:x")
    assert not any("advisory" in query["sql"] for query in queries)
