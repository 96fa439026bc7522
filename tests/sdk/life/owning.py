"""An owner sets up an agent, talks to it, is told what happens, keeps its data, and lets it rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentpods.errors import ConflictError
from tests.doubles.mcp_http import McpHttpServer
from tests.doubles.receiver import Receiver
from tests.sdk.driving.client import DrivenClient


def talks(pods: DrivenClient, agent: str) -> None:
    api = pods.api
    assert api.chat_with_agent(agent, {"message": "hi"})["reply"] == "you said hi"
    (model,) = api.list_agent_models(agent)["data"]
    assert api.get_agent_model(agent, model["id"])["id"] == model["id"]
    said = api.complete_agent_chat(agent, {"model": model["id"], "messages": [{"role": "user", "content": "ho"}]})
    assert "you said ho" in str(said)
    assert api.get_agent_liveness(agent)["liveness"]["reachable"]
    assert api.create_agent_ticket(agent)["ticket"]["url"]
    assert api.test_agent_talk(agent)["talkTest"]["hops"]
    assert api.get_agent_memory(agent)["memory"]
    assert isinstance(api.get_agent_logs(agent)["logs"], list)


def configures(pods: DrivenClient, agent: str) -> None:
    api = pods.api
    assert api.update_agent(agent, {"name": "Bo"})["agent"]["name"] == "Bo"
    assert api.set_agent_channels(agent, {"channels": ["web"]})["agent"]["channels"] == ["web"]
    assert api.set_agent_a2a(agent, {"enabled": True, "listed": True})["agent"]["a2aToken"]
    assert isinstance(api.list_a2a_agents()["agents"], list)
    assert api.set_agent_domain(agent, {"domain": "bo.example.org"})["agent"]["domain"] == "bo.example.org"
    assert api.check_domain(domain="other.example.org") is not None
    api.delete_agent_domain(agent)
    key = api.update_agent_llm_key(agent, {"provider": "openai", "key": "sk-0123456789abcdef"})
    assert key["agent"]["llmKeyHash"]
    api.delete_agent_llm_key(agent)
    assert api.get_agent(agent)["agent"]["llmKeyHash"] is None


def uses_tools(pods: DrivenClient, agent: str, mcp: McpHttpServer) -> None:
    api = pods.api
    entry = {"name": "crm", "url": mcp.url, "headers": mcp.require}
    api.set_agent_tools(agent, {"enabled": [], "mcpServers": [entry]})  # type: ignore[list-item]  # a dict
    found = api.test_agent_mcp_server(agent, {"name": "crm"})["mcpTest"]
    assert (found["ok"], found["tools"]) == (True, [tool.name for tool in mcp.tools]), found
    api.set_agent_tools(agent, {"enabled": [], "mcpServers": []})


def sets_bounds(pods: DrivenClient, agent: str) -> None:
    api = pods.api
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


def is_told(pods: DrivenClient, agent: str, receiver: Receiver) -> None:
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


def keeps_its_data(pods: DrivenClient, agent: str, archive: bytes, there: Path) -> None:
    api = pods.api
    made = api.create_agent_backup(agent)["backup"]["name"]
    assert [one["name"] for one in api.list_agent_backups(agent)["backups"]] == [made]
    assert api.get_agent_backup(agent, made) == archive
    another = pods.backups.create(agent)["name"]
    assert [one["name"] for one in pods.backups.list(agent)] == [another, made]
    assert pods.backups.download(agent, another, there) == len(archive)
    assert there.read_bytes() == archive
    pods.backups.delete(agent, another)
    assert api.restore_agent_backup(agent, made, dry_run=True)["agent"]["id"] == agent
    assert pods.backups.restore(agent, made, wait=30)["status"] == "running"
    api.delete_agent_backup(agent, made)
    assert made not in {one["name"] for one in api.list_agent_backups(agent)["backups"]}  # the restore made one itself


def rests(pods: DrivenClient, agent: str) -> None:
    api = pods.api
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
