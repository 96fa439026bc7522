"""`/agents` and `/agents/{id}` over HTTP: response shapes, order of refusals, ownership, all-or-nothing changes."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import keys
from accounts.models import User
from agents.models import Agent
from catalog import snapshot
from catalog.models import Engine
from catalog.vocabulary import EngineId
from tests.agents.conftest import PERSONA, MakeAgent, settle, signed_in
from tests.doubles.runtime import ScriptedRuntime
from tests.workers import database_url

FIELDS = {
    "id", "userId", "personaId", "name", "tier", "channels", "createdAt", "status", "dseq", "endpointUrl", "llmKeyHash",
    "dashUsername", "dashPassword", "quotaStatus", "quota", "lang", "domain", "tools", "llmProvider", "lastBackupAt",
    "model", "engine", "timezone", "a2aToken", "a2aUrl", "extraSoul", "a2aPeers", "a2aSlug", "trialNoticeDay",
    "telegramTokenEnc", "a2aListed",
}  # fmt: skip
WEBHOOK_FIELDS = {"webhookUrl", "webhookLastStatus", "webhookLastAt", "webhookLastEvent"}
BOB = {"name": "bob", "url": "https://bob.example/a2a"}
SMALLEST = {"personaId": PERSONA, "tier": "tiny"}

pytestmark = pytest.mark.usefixtures("runtime")


def create(client: APIClient, **body: Any) -> Any:
    return client.post("/agents", {**SMALLEST, **body}, format="json")


def test_an_agent_needs_only_a_persona_and_a_tier(client: APIClient, owner: User) -> None:
    answer = create(client)
    assert answer.status_code == 200, answer.json()
    assert set(answer.json()) == {"agent", "webhookSecret"}
    assert answer.json()["webhookSecret"] is None
    agent = answer.json()["agent"]
    assert set(agent) == FIELDS
    expected = {
        "userId": owner.pk, "engine": "pi", "channels": ["web"], "lang": "en", "status": "provisioning", "dseq": None,
        "quotaStatus": "ok", "quota": None, "tools": None, "timezone": None, "a2aListed": False, "a2aToken": None,
    }  # fmt: skip
    assert expected.items() <= agent.items()
    assert agent["createdAt"].endswith("Z")


def test_the_timeline_begins_with_the_key_that_created_the_agent(owner: User, catalog: None) -> None:
    key, secret = keys.create(owner, name="my agent", now=timezone.now())
    client = APIClient(headers={"Authorization": f"Bearer {secret}"})
    agent = Agent.objects.get(pk=create(client).json()["agent"]["id"])
    assert agent.transitions.get().actor == f"key:{key.pk}"


def test_every_option_of_creation_is_taken(client: APIClient) -> None:
    body = {
        "engine": "pi", "tier": "small", "name": "Ada", "channels": ["web"], "lang": "ru", "timezone": "Europe/Berlin",
        "domain": "Ada.Example.com", "tools": {"enabled": ["file"], "mcpServers": []}, "llmProvider": "openai",
        "llmKey": "sk-test-key", "model": "openai:gpt-6-luna", "telegramToken": "1:abc", "extraSoul": "Be brief.",
        "a2a": {"enabled": True, "listed": True, "peers": [BOB | {"token": "t"}]},
        "webhookUrl": "https://hooks.example.com/x",
    }  # fmt: skip
    answer = create(client, **body)
    assert answer.status_code == 200, answer.json()
    agent = answer.json()["agent"]
    assert answer.json()["webhookSecret"].startswith("whsec_")
    assert set(agent) == FIELDS | WEBHOOK_FIELDS
    expected = {
        "name": "Ada", "tier": "small", "lang": "ru", "timezone": "Europe/Berlin", "domain": "ada.example.com",
        "tools": {"enabled": ["file"], "mcpServers": []}, "llmProvider": "openai", "model": "openai:gpt-6-luna",
        "telegramTokenEnc": "set", "extraSoul": "Be brief.", "a2aListed": True,
        "a2aPeers": [BOB], "webhookUrl": "https://hooks.example.com/x",
    }  # fmt: skip
    assert expected.items() <= agent.items()
    assert len(agent["llmKeyHash"]) == 64
    assert agent["a2aToken"]
    assert agent["a2aUrl"].endswith("/a2a")
    assert "sk-test-key" not in str(answer.json())


WRONG: list[tuple[str, Any]] = [
    ("personaId", 5), ("personaId", None), ("personaId", "nobody"), ("personaId", ""), ("tier", "huge"), ("tier", 1),
    ("tier", None), ("engine", "gpt"), ("engine", []), ("name", ""), ("name", "   "), ("name", "x" * 81), ("name", 5),
    ("name", "a\nb"), ("channels", "web"), ("channels", []), ("channels", ["web", "web"]), ("channels", ["fax"]),
    ("channels", ["telegram"]), ("channels", [5]), ("channels", {}), ("lang", "de"), ("lang", 1),
    ("timezone", "Mars/Base"),
    ("timezone", 3), ("timezone", "../../etc/passwd"), ("domain", "localhost"), ("domain", "10.0.0.1"), ("domain", 5),
    ("domain", "a..b.com"), ("domain", "x.pods.localhost"), ("domain", "-a.example.com"), ("domain", "ex ample.com"),
    ("tools", []), ("tools", {"enabled": ["web"]}), ("tools", {"enabled": ["nope"], "mcpServers": []}),
    ("tools", {"enabled": ["file", "file"], "mcpServers": []}), ("tools", {"enabled": "file", "mcpServers": []}),
    ("tools", {"enabled": [], "mcpServers": [{"name": "x", "command": "npx"}]}),
    ("llmProvider", "acme"), ("llmProvider", 1), ("llmKey", "with space"), ("llmKey", ""), ("llmKey", 5),
    ("model", "gpt-6"), ("model", "openai:unknown"), ("model", 5), ("extraSoul", "x" * 4001), ("extraSoul", 5),
    ("a2a", True), ("a2a", {}), ("a2a", {"enabled": "yes"}), ("a2a", {"enabled": False, "listed": True}),
    ("a2a", {"enabled": True, "peers": [{"name": "x"}]}), ("webhookUrl", "ftp://x.example"), ("webhookUrl", 5),
    ("webhookUrl", "http://127.0.0.1/"), ("channelSecrets", []), ("channelSecrets", {"telegramToken": 5}),
    ("telegramToken", 5), ("telegramToken", "\n"), ("channelSecrets", {"telegramToken": " 1:abc"}),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_field_is_a_400_that_names_it_and_leaves_nothing(client: APIClient, field: str, value: Any) -> None:
    extra = {"llmProvider": "openai"} if field == "llmKey" else {"llmKey": "sk"} if field == "llmProvider" else {}
    answer = create(client, **{**extra, field: value})
    assert answer.status_code == 400, answer.json()
    assert set(answer.json()) == {"error", "message"}
    assert answer.json()["error"] == "BAD_REQUEST"
    assert field in answer.json()["message"]
    assert not Agent.objects.exists()


@pytest.mark.parametrize("field", ["personaId", "tier"])
def test_persona_and_tier_are_required(client: APIClient, field: str) -> None:
    body = {name: value for name, value in SMALLEST.items() if name != field}
    answer = client.post("/agents", body, format="json")
    assert (answer.status_code, field in answer.json()["message"]) == (400, True)


@pytest.mark.parametrize("body", [[], "text", 5, None])
def test_a_body_that_is_no_object_is_a_400(client: APIClient, body: Any) -> None:
    answer = client.post("/agents", body, format="json")
    assert (answer.status_code, answer.json()["error"]) == (400, "BAD_REQUEST")


def test_every_engine_that_is_listed_is_taken_and_no_other(client: APIClient, settings: Any) -> None:
    settings.MAX_FREE_AGENTS = 10
    listed = {engine["id"]: engine for engine in client.get("/engines").json()["engines"]}
    for engine in EngineId.values:
        tier = listed[engine]["minTier"] if engine in listed else "large"
        domain = {"domain": "flows.customer.org"} if listed.get(engine, {}).get("requiresDomain") else {}
        answer = create(client, engine=engine, tier=tier, **domain)
        assert answer.status_code == (200 if engine in listed else 400), answer.json()
        if engine not in listed:
            refusal = answer.json()["message"]
            assert refusal.startswith(f"engine: '{engine}' is not ")
            named = refusal.removeprefix(f"engine: '{engine}'")
            assert {other for other in EngineId.values if other in named} == set(listed), "what it may be"


def test_an_engine_that_needs_a_domain_says_so(client: APIClient) -> None:
    Engine.objects.filter(id="hermes").update(requires_domain=True)
    snapshot.forget()
    answer = create(client, engine="hermes", tier="medium")
    assert (answer.status_code, "domain" in answer.json()["message"]) == (400, True)


def test_a_key_needs_its_provider_or_a_model_that_tells_it(client: APIClient) -> None:
    assert "llmProvider" in create(client, llmKey="sk-x").json()["message"]
    assert "llmKey" in create(client, llmProvider="openai").json()["message"]
    assert create(client, llmKey="sk-x", model="openai:gpt-6-luna").json()["agent"]["llmProvider"] == "openai"


def test_a2a_cannot_be_asked_for_and_refused_at_once(client: APIClient) -> None:
    answer = create(client, tools={"enabled": ["a2a"], "mcpServers": []}, a2a={"enabled": False})
    assert (answer.status_code, "a2a.enabled" in answer.json()["message"]) == (400, True)


def test_a_model_of_another_provider_is_refused(client: APIClient) -> None:
    answer = create(client, llmProvider="anthropic", llmKey="sk-x", model="openai:gpt-6-luna")
    assert (answer.status_code, "model" in answer.json()["message"]) == (400, True)


def test_a_domain_in_use_is_a_conflict(client: APIClient, other: APIClient) -> None:
    create(client, domain="bot.example.com")
    answer = create(other, domain="BOT.example.com")
    assert (answer.status_code, answer.json()["error"]) == (409, "CONFLICT")


def test_the_free_pod_cap_says_how_to_get_more(client: APIClient) -> None:
    for _ in range(3):
        assert create(client).status_code == 200
    answer = create(client)
    assert answer.status_code == 400
    assert "3 of at most 3" in answer.json()["message"]
    client.delete(f"/agents/{Agent.objects.latest('created_at').id}")
    assert create(client).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_the_cap_holds_for_creates_at_the_same_time(client: APIClient, owner: User) -> None:
    statuses: list[int] = []

    def one() -> None:
        statuses.append(create(signed_in(owner)).status_code)
        connection.close()

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] * 3 + [400] * 5
    assert Agent.objects.count() == 3


def test_the_same_idempotency_key_creates_one_agent(client: APIClient) -> None:
    first = client.post("/agents", SMALLEST, format="json", headers={"Idempotency-Key": "one"})
    again = client.post("/agents", SMALLEST, format="json", headers={"Idempotency-Key": "one"})
    assert first.json() == again.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert Agent.objects.count() == 1
    other_body = client.post("/agents", {**SMALLEST, "name": "X"}, format="json", headers={"Idempotency-Key": "one"})
    assert other_body.status_code == 422


def test_the_list_has_the_callers_agents_newest_first(client: APIClient, other: APIClient) -> None:
    ids = [create(client).json()["agent"]["id"] for _ in range(3)]
    create(other)
    client.delete(f"/agents/{ids[1]}")
    answer = client.get("/agents")
    assert set(answer.json()) == {"agents"}
    assert [agent["id"] for agent in answer.json()["agents"]] == [ids[2], ids[0]]


def test_a_limited_list_links_to_its_next_page(client: APIClient) -> None:
    ids = [create(client).json()["agent"]["id"] for _ in range(3)]
    first = client.get("/agents?limit=2")
    link = first.headers["Link"]
    assert link.endswith('; rel="next"')
    second = client.get(link[link.index("/agents") : link.index(">")])
    assert [agent["id"] for agent in first.json()["agents"] + second.json()["agents"]] == ids[::-1]
    assert "Link" not in second.headers


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=x",
        "limit=1001",
        "cursor=!!",
        "cursor=YWJj",
        "status=deleted",
        "status=x",
        "cursor=MjAyNi0wMS0wMVQwMDowMDowMCswMDowMHwA",  # a valid time, and NUL as the id
    ],
)
def test_a_wrong_query_is_a_400_that_names_it(client: APIClient, query: str) -> None:
    answer = client.get(f"/agents?{query}")
    assert answer.status_code == 400
    assert query.split("=", maxsplit=1)[0] in answer.json()["message"]


@pytest.mark.parametrize("count", [1, 3])
def test_the_list_costs_the_same_number_of_queries_for_any_number(
    client: APIClient, count: int, django_assert_max_num_queries: Any
) -> None:
    for _ in range(count):
        create(client, webhookUrl="https://hooks.example.com/x")
    with django_assert_max_num_queries(4):
        assert len(client.get("/agents").json()["agents"]) == count


def test_a_create_asks_the_database_six_times(owner: User, catalog: None, runtime: ScriptedRuntime) -> None:
    """Of a process that has just compared its clock, by a key whose use is noted: the key, the locks, the counts, the
    persona's soul, the agent, its timeline.
    """
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {keys.create(owner, name='laptop', now=timezone.now())[1]}")
    assert create(client).status_code == 200
    with CaptureQueriesContext(connection) as queries:
        assert create(client).status_code == 200
    asked = [query["sql"] for query in queries if not query["sql"].startswith(("SAVEPOINT", "RELEASE"))]
    assert len([sql for sql in asked if "catalogversion" not in sql]) == 6, asked


@pytest.mark.parametrize("method", ["get", "patch", "delete"])
@pytest.mark.parametrize("agent_id", ["agt_000000000000000000000000", "agt_x", "nothing", "%00", "agt_" + "0" * 500])
def test_what_is_not_an_agent_of_the_caller_is_a_404(client: APIClient, method: str, agent_id: str) -> None:
    answer = client.generic(method.upper(), f"/agents/{agent_id}", "{}", content_type="application/json")
    assert (answer.status_code, answer.json()["error"]) == (404, "NOT_FOUND")


def test_anothers_agent_is_a_404_before_the_body_is_looked_at(client: APIClient, other: APIClient) -> None:
    agent_id = create(client).json()["agent"]["id"]
    calls = (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/pause"), ("PATCH", "/llm-key"), ("PUT", "/tools"))
    for method, path in calls:
        answer = other.generic(method, f"/agents/{agent_id}{path}", '{"name": 5}', content_type="application/json")
        assert answer.status_code == 404, (method, path)


def test_deleting_answers_404_at_once_and_on_repeat(client: APIClient) -> None:
    agent_id = create(client).json()["agent"]["id"]
    assert client.delete(f"/agents/{agent_id}").status_code == 204
    assert client.get(f"/agents/{agent_id}").status_code == 404
    assert client.delete(f"/agents/{agent_id}").status_code == 404


def test_plain_settings_change_in_place(client: APIClient, runtime: ScriptedRuntime) -> None:
    agent = settle(Agent.objects.get(pk=create(client).json()["agent"]["id"]))
    body = {"name": "New", "lang": "ru", "timezone": "Asia/Tokyo", "extraSoul": "Short.", "tier": "small"}
    answer = client.patch(f"/agents/{agent.id}", body, format="json")
    assert answer.status_code == 200
    assert body.items() <= answer.json()["agent"].items()
    agent = settle(agent)
    config = runtime.pods[agent.namespace].spec.config
    assert (config.name, config.lang, config.timezone, config.extra_soul) == ("New", "ru", "Asia/Tokyo", "Short.")
    assert agent.status == "running"


@pytest.mark.parametrize(
    ("field", "value"),
    [("name", None), ("name", ""), ("name", 5), ("lang", "xx"), ("lang", None), ("timezone", "x"), ("timezone", 5),
     ("extraSoul", "x" * 4001), ("extraSoul", 5), ("tier", "huge"), ("tier", None), ("tier", 5)],
)  # fmt: skip
def test_a_wrong_setting_changes_nothing(client: APIClient, field: str, value: Any) -> None:
    agent_id = create(client).json()["agent"]["id"]
    before = client.get(f"/agents/{agent_id}").json()
    answer = client.patch(f"/agents/{agent_id}", {"name": "Other", field: value}, format="json")
    assert (answer.status_code, field in answer.json()["message"]) == (400, True)
    assert client.get(f"/agents/{agent_id}").json() == before


def test_null_clears_what_may_be_null(client: APIClient) -> None:
    agent_id = create(client, timezone="Europe/Paris", extraSoul="x").json()["agent"]["id"]
    agent = client.patch(f"/agents/{agent_id}", {"timezone": None, "extraSoul": None}, format="json").json()["agent"]
    assert (agent["timezone"], agent["extraSoul"]) == (None, None)


def test_a_paid_agents_tier_is_changed_by_paying(client: APIClient) -> None:
    agent_id = create(client).json()["agent"]["id"]
    Agent.objects.update(paid=True)
    assert client.patch(f"/agents/{agent_id}", {"tier": "small"}, format="json").status_code == 409


def test_unknown_fields_are_ignored_and_named(client: APIClient) -> None:
    answer = create(client, colour="red")
    assert (answer.status_code, answer.headers["Ignored-Fields"]) == (200, "colour")


def test_no_bearer_is_a_401_before_anything_else(api: APIClient) -> None:
    for method, path in (("get", "/agents"), ("post", "/agents"), ("get", "/agents/x"), ("patch", "/agents/x/llm-key")):
        answer = getattr(api, method)(path)
        assert (answer.status_code, answer.json()["error"]) == (401, "UNAUTHORIZED"), path


def test_a_rebuilt_agent_takes_the_persona_of_today(make_agent: MakeAgent, client: APIClient) -> None:
    agent = settle(make_agent())
    Agent.objects.update(soul="yesterday")
    assert client.post(f"/agents/{agent.id}/rebuild").status_code == 200
    assert Agent.objects.get().soul != "yesterday"


def test_an_engine_with_a_page_of_its_own_gets_a_login_for_it(client: APIClient, runtime: ScriptedRuntime) -> None:
    made = create(client, engine="hermes", tier="small").json()["agent"]
    assert made["dashUsername"] == "owner"
    assert len(made["dashPassword"]) >= 24
    shown = client.get(f"/agents/{made['id']}").json()["agent"]
    assert shown["dashPassword"] == made["dashPassword"]
    plain = create(client, engine="pi", tier="tiny").json()["agent"]
    assert (plain["dashUsername"], plain["dashPassword"]) == (None, None)


@pytest.mark.django_db(transaction=True)
def test_a_call_that_waited_too_long_for_others_is_told_to_try_again(client: APIClient, make_agent: MakeAgent) -> None:
    agent = make_agent()
    with psycopg.connect(database_url()) as other, connection.cursor() as cursor:
        other.execute("SELECT id FROM agents_agent WHERE id = %s FOR UPDATE", [agent.pk])
        cursor.execute("SET lock_timeout = '50ms'")
        refused = client.patch(f"/agents/{agent.pk}", {"name": "Bo"}, format="json")
        cursor.execute("RESET lock_timeout")
    assert (refused.status_code, refused["Retry-After"]) == (503, "1")
    assert "changing the same" in refused.json()["message"]
    assert Agent.objects.get().name == agent.name
