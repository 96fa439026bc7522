"""Tools that need a pod, a repository or a payment provider answer what their schemas say, and refuse clearly."""

from __future__ import annotations

from contextvars import copy_context
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # no stubs
import pytest
from django.utils import timezone

from agents.backups import taking
from agents.configuring import llm_key
from agents.models import Agent, Repository
from config import callers
from tests.agents.conftest import GatewayOf, MakeAgent, settle
from tests.agents.replay.conftest import stored
from tests.billing.providers.stars.bot import configured, deliver
from tests.doubles.bridge import BridgeDouble, line
from tests.doubles.telegram_payments_server import TelegramPayments
from tests.mcp_server.conftest import HandWritten

KEY = "sk-real-0123456789abcdefghijkl"


@pytest.fixture
def pod(
    make_agent: MakeAgent, gateway_of: GatewayOf, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Agent:
    """An agent that runs, with a model key and a repository for its backups."""
    settings.BACKUP_STORE, settings.BACKUP_URL = str(tmp_path / "store"), "http://127.0.0.1:9"
    agent = settle(make_agent())
    Repository.objects.create(agent=agent, password="of the repository", made_at=timezone.now())
    monkeypatch.setattr("agents.backups.by_owner.sleep", lambda _: taking.take_due(timezone.now() + taking.LEASE))
    llm_key.install(agent, provider="openai", key=KEY)
    gateway_of(agent)
    return agent


class Checked:
    """`checked(tool, …)`: the structured answer of a tool, which fits the schema that the tool declares."""

    def __init__(self, model: HandWritten) -> None:
        self._model = model
        self._schemas = {one["name"]: one["outputSchema"] for one in model.ask("tools/list")["result"]["tools"]}

    def __call__(self, tool: str, /, **arguments: Any) -> Any:
        result = self._model.tool(tool, **arguments)
        assert not result.get("isError"), (tool, result)
        jsonschema.validate(result["structuredContent"], self._schemas[tool])
        assert set(self._schemas[tool].get("required", [])) <= set(result["structuredContent"])
        assert KEY not in str(result)
        return result["structuredContent"]


@pytest.mark.usefixtures("pod")
def test_what_a_pod_answers_fits_the_schemas(model: HandWritten, pod: Agent, bridge: BridgeDouble) -> None:
    checked, agent = Checked(model), {"agentId": pod.pk}
    bridge.said = [line("it writes")]
    bridge.memory = {"skills": ["tea"], "memories": [{"name": "USER.md", "content": "tea"}], "sessions": 3}
    bridge.memory["is_cut"] = False
    assert checked("talk_to_agent", message="hi", **agent)["reply"] == "you said hi"
    assert checked("test_agent", **agent)["talkTest"]["hops"]
    assert isinstance(checked("read_logs", **agent)["logs"], list)
    assert checked("read_replay", **agent) == {"replay": [], "recording": True}
    assert checked("read_memory", **agent)["memory"]["skills"] == ["tea"]
    assert checked("configure_agent", channels=["web"], **agent)["agent"]["channels"] == ["web"]
    name = checked("create_backup", **agent)["backup"]["name"]
    assert checked("restore_backup", backup=name, **agent)["agent"]["status"] == "provisioning"


def test_what_an_agent_did_comes_in_pages(model: HandWritten, make_agent: MakeAgent) -> None:
    checked, agent = Checked(model), settle(make_agent())
    stored(agent, 5, session="a")
    first = checked("read_replay", agentId=agent.pk, session="a", limit=3)
    rest = checked("read_replay", agentId=agent.pk, session="a", limit=3, cursor=first["next"])
    assert (len(first["replay"]), len(rest["replay"]), "next" in rest) == (3, 2, False)
    early = {"agentId": agent.pk, "to": "2026-01-01T00:00:00Z"}
    assert checked("read_replay", **early)["replay"] == []


def test_verbs_answer_what_their_schemas_say(model: HandWritten, make_agent: MakeAgent) -> None:
    checked, agent = Checked(model), settle(make_agent())
    assert checked("run_agent", agentId=agent.pk, action="rebuild")["agent"]["status"] == "provisioning"
    settle(agent)
    assert checked("run_agent", agentId=agent.pk, action="pause")["agent"]["id"] == agent.pk
    settle(agent)
    assert checked("run_agent", agentId=agent.pk, action="resume")["agent"]["status"] == "provisioning"


def test_quotes_and_orders_answer_what_their_schemas_say(
    model: HandWritten, make_agent: MakeAgent, settings: Any
) -> None:
    checked, agent = Checked(model), settle(make_agent())
    order = {"agentId": agent.pk, "period": "monthly", "provider": "stars"}
    with TelegramPayments(deliver) as double:
        configured(settings, double.url)
        assert checked("get_costs", show="quote", **order)["quote"]
        assert checked("start_payment", **order)["order"]["agentId"] == agent.pk


@pytest.mark.parametrize("length", [65_537, 900_000])
def test_a_message_that_is_too_long_is_refused_with_its_name_and_a_limit(
    model: HandWritten, pod: Agent, length: int
) -> None:
    refused = model.refusal("talk_to_agent", agentId=pod.pk, message="x" * length)
    limits = {
        65_537: "message: more than 65536 bytes",
        900_000: "message: 900000 characters are too long (body: larger",
    }
    assert limits[length] in refused


def test_a_turn_that_fails_later_is_a_refusal_that_names_the_hop(
    model: HandWritten, make_agent: MakeAgent, gateway_of: GatewayOf
) -> None:
    agent = settle(make_agent())
    gateway_of(agent).stop()

    def talk() -> str:
        callers.caller.set(callers.Caller(on_wait=lambda: None))  # as on the real server: the status comes later
        return model.refusal("talk_to_agent", agentId=agent.pk, message="hi")

    refused = copy_context().run(talk)
    assert "(503): gateway" in refused, refused
