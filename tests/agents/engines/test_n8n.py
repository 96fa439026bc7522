"""How n8n is started and how the agent is built in it, without starting n8n."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.engines.base import EnginePlace, Launch, ProxyAccess
from agents.engines.n8n import N8N
from agents.engines.n8n_dashboard import DASHBOARD
from agents.engines.n8n_workflow import AGENT_ID
from tests.agents.pod.bridge.process import pod_config

CATALOG = Path(__file__).parents[3] / "catalog" / "data"
LLM = ProxyAccess(url="http://127.0.0.1:7000", token="pod-token")
CRM = {"name": "crm", "url": "https://crm.example/mcp", "headers": {"x-crm-key": "key-of-the-crm"}}


@pytest.fixture
def place(tmp_path: Path) -> EnginePlace:
    return EnginePlace(
        install=tmp_path / "engines" / "n8n",
        node=Path("/opt/node/bin/node"),
        data=tmp_path / "data",
        memory_bytes=2048 * 2**20,
        port=7001,
        side_port=7002,
        password="engine-password",
    )


def render(place: EnginePlace, **config: Any) -> Launch:
    return N8N.render(pod_config(**config), place=place, llm=LLM)


def rendered(launch: Launch) -> dict[str, Any]:
    (text,) = launch.live_files.values()
    found: dict[str, Any] = json.loads(text)
    return found


def nodes(launch: Launch) -> dict[str, dict[str, Any]]:
    return {node["name"]: node for node in rendered(launch)["workflow"]["nodes"]}


def connected(launch: Launch, kind: str) -> set[str]:
    """The names of the nodes that are connected to the agent as this kind."""
    connections = rendered(launch)["workflow"]["connections"]
    return {name for name, outputs in connections.items() if kind in outputs}


@pytest.mark.parametrize(
    ("provider", "node", "url"),
    [
        ("openai", "lmChatOpenAi", "http://127.0.0.1:7000/llm/openai/v1"),
        ("anthropic", "lmChatAnthropic", "http://127.0.0.1:7000/llm/anthropic"),
        ("openrouter", "lmChatOpenRouter", "http://127.0.0.1:7000/llm/openrouter/api/v1"),
        ("google", "lmChatGoogleGemini", "http://127.0.0.1:7000/llm/google"),
        ("gemini", "lmChatGoogleGemini", "http://127.0.0.1:7000/llm/gemini"),
        ("groq", "lmChatOpenAi", "http://127.0.0.1:7000/llm/groq/openai/v1"),
        ("mistral", "lmChatOpenAi", "http://127.0.0.1:7000/llm/mistral/v1"),
        ("deepseek", "lmChatDeepSeek", "http://127.0.0.1:7000/llm/deepseek"),
        ("xai", "lmChatXAiGrok", "http://127.0.0.1:7000/llm/xai/v1"),
    ],
)
def test_the_model_is_asked_through_the_key_proxy(place: EnginePlace, provider: str, node: str, url: str) -> None:
    launch = render(place, provider=provider, model="m/1:free")
    model = nodes(launch)["Model"]
    assert model["type"].endswith(f".{node}")
    assert "m/1:free" in json.dumps(model["parameters"])
    (credential,) = rendered(launch)["credentials"]
    assert model["credentials"][credential["type"]]["id"] == credential["id"]
    assert credential["data"]["apiKey"] == "pod-token"
    assert url in credential["data"].values()
    assert connected(launch, "ai_languageModel") == {"Model"}


def test_every_provider_that_the_catalog_names_is_rendered() -> None:
    entries = yaml.safe_load((CATALOG / "engines.yaml").read_text(encoding="utf-8"))
    (entry,) = [entry for entry in entries if entry["id"] == "n8n"]
    assert N8N.providers == set(entry["llm_providers"])
    assert {*N8N.toolsets, "a2a"} == set(entry["toolsets"])


def test_the_persona_is_the_system_message_whole_and_never_a_program(place: EnginePlace) -> None:
    """n8n runs a text that begins with `=` as an expression."""
    soul = '={{ $env.PATH }} says "hello" {{ 1 + 1 }}'
    said = nodes(render(place, soul=soul))["Agent"]["parameters"]["options"]["systemMessage"]
    assert not said.startswith("=")
    assert soul in said


@pytest.mark.parametrize("changed", [{"soul": "You are Nurse Blip."}, {"model": "gpt-5"}, {"mcp_servers": [CRM]}])
def test_all_of_the_agent_changes_without_a_restart(place: EnginePlace, changed: dict[str, Any]) -> None:
    before, after = render(place), render(place, **changed)
    assert before != after
    assert before.serves_as(after)


def test_another_time_zone_needs_a_restart(place: EnginePlace) -> None:
    assert not render(place).serves_as(render(place, timezone="Asia/Tokyo"))


def test_a_servers_headers_are_in_a_credential_and_not_in_the_workflow(place: EnginePlace) -> None:
    launch = render(place, mcp_servers=[CRM])
    server = nodes(launch)["crm (MCP server)"]
    assert server["parameters"]["endpointUrl"] == CRM["url"]
    assert "key-of-the-crm" not in json.dumps(rendered(launch)["workflow"])
    credential = next(one for one in rendered(launch)["credentials"] if one["type"] == "httpMultipleHeadersAuth")
    assert credential["data"] == {"headers": {"values": [{"name": "x-crm-key", "value": "key-of-the-crm"}]}}
    assert server["credentials"]["httpMultipleHeadersAuth"]["id"] == credential["id"]


def test_every_id_fits_into_n8ns_tables(place: EnginePlace) -> None:
    launch = render(place, mcp_servers=[CRM])
    assert re.fullmatch(r"[a-z]{1,21}", AGENT_ID)
    assert all(len(one["id"]) <= 36 for one in rendered(launch)["credentials"])


@pytest.mark.parametrize(
    ("toolsets", "tools"), [([], {"fetch_page"}), (["web"], {"fetch_page"}), (["tts"], set()), (["file"], set())]
)
def test_a_toolset_is_its_nodes(place: EnginePlace, toolsets: list[str], tools: set[str]) -> None:
    assert connected(render(place, toolsets=toolsets), "ai_tool") == tools


def test_without_a_model_the_agent_has_none(place: EnginePlace) -> None:
    launch = render(place, provider=None, model=None)
    assert rendered(launch)["credentials"] == []
    assert connected(launch, "ai_languageModel") == set()


def test_nothing_calls_n8ns_makers_and_no_secret_is_shown(place: EnginePlace) -> None:
    launch = render(place, mcp_servers=[CRM])
    for name in ("DIAGNOSTICS", "VERSION_NOTIFICATIONS", "TEMPLATES", "DYNAMIC_BANNERS"):
        assert launch.env[f"N8N_{name}_ENABLED"] == "false"
    assert "mcp-registry" in launch.env["N8N_DISABLED_MODULES"].split(",")
    shown = "".join(launch.argv) + repr(launch)
    assert not any(secret in shown for secret in ("engine-password", "pod-token", "key-of-the-crm"))
    assert "pod-token" not in str(launch.env)


def test_webhooks_have_the_address_by_which_the_agent_is_called(place: EnginePlace) -> None:
    assert render(place, public_url="https://bot.example").env["WEBHOOK_URL"] == "https://bot.example/"
    assert "WEBHOOK_URL" not in render(place).env


@pytest.mark.parametrize(
    ("path", "public"),
    [
        ("/webhook/orders", True),
        ("/webhook/0f5c/chat", True),
        ("/form/order", True),
        ("/webhook-waiting/12", True),
        (f"/webhook/{AGENT_ID}/chat", False),
        (f"/webhook/{AGENT_ID}", False),
        ("/webhook-test/orders", False),
        ("/webhook", False),
        ("/rest/workflows", False),
        ("/agentpods/agent", False),
        ("/", False),
    ],
)
def test_strangers_reach_published_workflows_and_nothing_else(path: str, public: bool) -> None:
    assert DASHBOARD.public
    assert bool(DASHBOARD.public.fullmatch(path)) is public


@pytest.mark.parametrize(
    ("method", "path", "may"),
    [
        ("GET", "/home/workflows", True),
        ("GET", "/rest/login", True),
        ("POST", "/rest/login", False),
        ("POST", "/rest/logout", False),
        ("POST", "/rest/workflows", True),
        ("PATCH", "/rest/workflows/abc", True),
        ("POST", "/rest/workflow-dependencies/counts", True),
        ("POST", "/rest/workflows/abc/activate", True),
        ("PATCH", f"/rest/workflows/{AGENT_ID}", False),
        ("DELETE", f"/rest/workflows/{AGENT_ID}", False),
        ("POST", f"/rest/workflows/{AGENT_ID}/deactivate", False),
        ("POST", f"/rest/workflows/{AGENT_ID}/run", True),
        ("PATCH", f"/rest/credentials/{AGENT_ID}-model", False),
        ("POST", "/rest/credentials", True),
        ("PATCH", "/rest/me/password", False),
        ("POST", "/rest/users", False),
        ("GET", "/rest/users", True),
        ("POST", "/rest/api-keys", False),
        ("POST", "/rest/community-packages", False),
        ("GET", "/agentpods/agent", False),
    ],
)
def test_the_editor_is_for_workflows_and_leaves_the_agent_to_the_console(method: str, path: str, may: bool) -> None:
    assert (DASHBOARD.refuses(method, path) is None) is may
