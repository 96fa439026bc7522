"""The official client drives a live server in both eras of the protocol; every tool keeps to its schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # no stubs
import pytest

from tests.agents.conftest import PERSONA, MakeAgent
from tests.mcp_server.conftest import HandWritten, OfficialClients

ERAS = ["2026-07-28", "legacy"]


@pytest.mark.parametrize("era", ERAS)
def test_the_official_client_finds_a_persona_makes_an_agent_and_reads_it(official: OfficialClients, era: str) -> None:
    async def work(client: Any) -> None:
        listed = await client.list_tools()
        assert 20 <= len(listed.tools) <= 40
        found = await client.call_tool("search_personas", {"category": "study", "limit": 50})
        assert PERSONA in [one["id"] for one in found.structured_content["personas"]]
        made = await client.call_tool("create_agent", {"personaId": PERSONA, "tier": "tiny"})
        assert made.structured_content["agent"]["status"] == "provisioning"
        read = await client.call_tool("get_agent", {"agentId": made.structured_content["agent"]["id"]})
        assert read.structured_content["agent"]["personaId"] == PERSONA
        wrong = await client.call_tool("create_agent", {"personaId": PERSONA, "tier": "gigantic"})
        assert wrong.is_error
        assert "'gigantic' is not one of tiny, small, medium, large" in wrong.content[0].text

    official.run(era, work)


@pytest.mark.parametrize("era", ERAS)
def test_the_official_client_reads_resources_and_prompts(official: OfficialClients, era: str) -> None:
    async def work(client: Any) -> None:
        listed = await client.list_resources()
        assert "agentpods://docs/start" in [str(one.uri) for one in listed.resources]
        persona = await client.read_resource(f"agentpods://personas/{PERSONA}")
        assert "You help people study." in persona.contents[0].text
        start = await client.read_resource("agentpods://docs/start")
        assert "The whole life of an agent" in start.contents[0].text
        prompts = await client.list_prompts()
        assert len(prompts.prompts) == 3
        told = await client.get_prompt("set_up_an_agent", {"wish": "maths for exams"})
        assert "maths for exams" in told.messages[0].content.text

    official.run(era, work)


def test_the_official_client_waits_until_an_agent_runs(official: OfficialClients, worker: None) -> None:
    async def work(client: Any) -> Any:
        return await client.call_tool("create_agent", {"personaId": PERSONA, "tier": "tiny", "waitSeconds": 60})

    made = official.run("2026-07-28", work)
    assert made.structured_content["agent"]["status"] == "running"


def test_reading_tools_answer_what_their_schemas_say(model: HandWritten, make_agent: MakeAgent) -> None:
    agent = make_agent()
    schemas = {tool["name"]: tool["outputSchema"] for tool in model.ask("tools/list")["result"]["tools"]}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search_personas", {"limit": 2}),
        ("get_persona", {"personaId": PERSONA}),
        *(
            ("get_catalog", {"section": section})
            for section in ("tiers", "engines", "models", "llm-providers", "tools")
        ),
        ("get_catalog", {"section": "payment-providers"}),
        ("plan_agent", {"personaId": PERSONA, "tier": "small"}),
        ("list_agents", {}),
        ("get_agent", {"agentId": agent.pk}),
        ("explain_agent", {"agentId": agent.pk}),
        ("list_events", {}),
        ("list_events", {"agentId": agent.pk}),
        ("list_backups", {"agentId": agent.pk}),
        ("get_costs", {"show": "term", "agentId": agent.pk}),
        ("get_costs", {"show": "usage", "agentId": agent.pk, "by": "model"}),
        ("get_costs", {"show": "limits", "agentId": agent.pk}),
        ("get_costs", {"show": "limits"}),
        ("get_costs", {"show": "keys"}),
        ("set_limits", {"agentId": agent.pk, "usdPerDay": 2.5}),
        ("configure_agent", {"agentId": agent.pk, "name": "Ada"}),
        ("set_model_key", {"agentId": agent.pk, "provider": "openai", "key": "sk-secret-of-the-owner"}),
        ("configure_agent", {"agentId": agent.pk, "enabled": [], "mcpServers": []}),
        ("delete_agent", {"agentId": agent.pk, "confirmName": "Ada"}),
    ]
    for name, arguments in calls:
        result = model.tool(name, **arguments)
        assert not result.get("isError"), (name, result)
        jsonschema.validate(result["structuredContent"], schemas[name])
        for secret in ("dashPassword", "a2aToken", "llmKeyHash", "sk-secret-of-the-owner", "webhookSecret"):
            assert secret not in str(result)


def test_the_reference_names_every_tool_and_its_hints(model: HandWritten) -> None:
    told = (Path(__file__).parents[2] / "docs/reference/mcp.md").read_text(encoding="utf-8")
    lines = [line for line in told.splitlines() if line.startswith("| `") and "://" not in line]
    rows = {line.split("`")[1]: line.split("|")[3] for line in lines}
    for tool in model.ask("tools/list")["result"]["tools"]:
        row = rows.pop(tool["name"])
        assert ("reads" in row) == tool["annotations"]["readOnlyHint"], tool["name"]
        assert ("destructive" in row) == tool["annotations"]["destructiveHint"], tool["name"]
    assert not rows
