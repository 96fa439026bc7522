"""`pause`, `resume`, `rebuild`, `tools`, `channels`, `liveness`, `explain` and `ticket` over HTTP."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import requests
from rest_framework.test import APIClient

from agents.models import Agent
from agents.runtimes.base import Endpoint, Phase
from agents.watching import liveness
from tests.agents.conftest import MakeAgent, settle
from tests.agents.views.conftest import GatewayOf
from tests.doubles.bridge import BridgeDouble
from tests.doubles.certificates import Certificates
from tests.doubles.receiver import Receiver, status
from tests.doubles.runtime import ScriptedRuntime


def explain(client: APIClient, agent: Agent) -> Any:
    answer = client.get(f"/agents/{agent.id}/explain")
    assert set(answer.json()["explanation"]) == {"status", "cause", "message", "since", "evidence", "next"}
    return answer.json()["explanation"]


def test_pause_resume_and_rebuild_answer_with_the_agent(client: APIClient, running: Agent) -> None:
    paused = client.post(f"/agents/{running.id}/pause")
    assert (paused.status_code, paused.json()["agent"]["status"]) == (200, "running")
    assert settle(running).status == "stopped"
    assert client.post(f"/agents/{running.id}/pause").json()["agent"]["status"] == "stopped"
    resumed = client.post(f"/agents/{running.id}/resume")
    assert (resumed.status_code, resumed.json()["agent"]["status"]) == (200, "provisioning")
    assert client.post(f"/agents/{running.id}/resume").status_code == 409
    assert client.post(f"/agents/{running.id}/rebuild").status_code == 409
    assert settle(running).status == "running"
    assert client.post(f"/agents/{running.id}/rebuild").json()["agent"]["status"] == "provisioning"


def test_a_refusal_for_want_of_payment_carries_the_link(client: APIClient, running: Agent) -> None:
    client.post(f"/agents/{running.id}/pause")
    settle(running)
    Agent.objects.update(entitled_until=running.created_at)
    answer = client.post(f"/agents/{running.id}/resume")
    assert (answer.status_code, answer.json()["error"]) == (409, "CONFLICT")
    assert f"/renew/{running.id}" in answer.headers["Link"]


def test_a_rebuild_tells_who_asked_for_it(client: APIClient, running: Agent) -> None:
    client.post(f"/agents/{running.id}/rebuild")
    assert running.transitions.filter(reason="rebuild", actor=f"user:{running.user_id}").exists()


def test_tools_are_replaced_whole(client: APIClient, running: Agent, runtime: ScriptedRuntime) -> None:
    answer = client.put(f"/agents/{running.id}/tools", {"enabled": ["terminal"], "mcpServers": []}, format="json")
    assert answer.json()["agent"]["tools"] == {"enabled": ["terminal"], "mcpServers": []}
    assert runtime.pods[settle(running).namespace].spec.config.toolsets == ["terminal"]


def test_the_toolset_a2a_switches_a2a(client: APIClient, running: Agent) -> None:
    url = f"/agents/{running.id}/tools"
    agent = client.put(url, {"enabled": ["file", "a2a"], "mcpServers": []}, format="json").json()["agent"]
    assert agent["a2aToken"]
    assert agent["a2aUrl"].endswith("/a2a")
    agent = client.put(url, {"enabled": ["file"], "mcpServers": []}, format="json").json()["agent"]
    assert (agent["a2aToken"], agent["a2aUrl"]) == (None, None)


@pytest.mark.parametrize(
    ("body", "field"),
    [({"enabled": ["nope"], "mcpServers": []}, "enabled"), ({"enabled": ["spotify"], "mcpServers": []}, "enabled"),
     ({"enabled": []}, "mcpServers"), ({"mcpServers": []}, "enabled"), ({"enabled": [5], "mcpServers": []}, "enabled"),
     ({"enabled": [], "mcpServers": [{"name": "x", "command": "sh"}]}, "mcpServers"),
     ({"enabled": [], "mcpServers": [{"command": "sh"}]}, "mcpServers[0].name"),
     ({"enabled": [], "mcpServers": [{"name": "x", "env": {"A": 1}}]}, "env"),
     ({"enabled": [], "mcpServers": {}}, "mcpServers")],
)  # fmt: skip
def test_wrong_tools_are_named(client: APIClient, running: Agent, body: dict[str, Any], field: str) -> None:
    answer = client.put(f"/agents/{running.id}/tools", body, format="json")
    assert (answer.status_code, field in answer.json()["message"]) == (400, True), answer.json()
    assert client.get(f"/agents/{running.id}").json()["agent"]["tools"] is None


def test_channel_secrets_are_kept_when_absent_and_forgotten_when_null(client: APIClient, running: Agent) -> None:
    url = f"/agents/{running.id}/channels"
    agent = client.put(url, {"channels": ["web"], "telegramToken": "1:a"}, format="json").json()["agent"]
    assert agent["telegramTokenEnc"] == "set"
    assert client.put(url, {"channels": ["web"]}, format="json").json()["agent"]["telegramTokenEnc"] == "set"
    body = {"channels": ["web"], "channelSecrets": {"telegramToken": None}}
    assert client.put(url, body, format="json").json()["agent"]["telegramTokenEnc"] is None


@pytest.mark.parametrize("channels", [["telegram"], [], ["web", "web"], ["fax"], "web", None])
def test_a_channel_that_cannot_be_connected_is_named(client: APIClient, running: Agent, channels: Any) -> None:
    answer = client.put(f"/agents/{running.id}/channels", {"channels": channels}, format="json")
    assert (answer.status_code, "channels" in answer.json()["message"]) == (400, True)


def test_liveness_before_there_is_an_address_is_null(client: APIClient, make_agent: MakeAgent) -> None:
    answer = client.get(f"/agents/{make_agent().id}/liveness")
    assert answer.json() == {"liveness": {"reachable": None, "serving": None}}


def test_liveness_asks_the_pod_itself(client: APIClient, running: Agent, gateway_of: GatewayOf) -> None:
    gateway_of(running)
    assert client.get(f"/agents/{running.id}/liveness").json() == {"liveness": {"reachable": True, "serving": True}}


def test_a_pod_whose_engine_is_down_is_reachable_and_does_not_serve(
    client: APIClient, running: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    bridge.phase = "unhealthy"
    gateway_of(running)
    assert client.get(f"/agents/{running.id}/liveness").json() == {"liveness": {"reachable": True, "serving": False}}


def test_a_gateway_that_is_gone_gives_no_answer_at_all(
    client: APIClient, running: Agent, runtime: ScriptedRuntime
) -> None:
    runtime.set(running.namespace, gateway_alive=False)
    assert client.get(f"/agents/{running.id}/liveness").json() == {"liveness": {"reachable": False, "serving": None}}


def test_a_page_that_comes_byte_by_byte_does_not_serve_and_holds_nobody(
    client: APIClient, running: Agent, runtime: ScriptedRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(liveness, "WHOLE_SECONDS", 1.0)
    listener = socket.create_server(("127.0.0.1", 0))

    def drip() -> None:
        with suppress(OSError), listener.accept()[0] as visitor:
            visitor.sendall(b"HTTP/1.1 200 OK\r\nX-More: ")
            while True:
                visitor.sendall(b"x")
                time.sleep(0.1)

    threading.Thread(target=drip, daemon=True).start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    runtime.addresses[running.namespace] = Endpoint(public_url=url, management_url="https://127.0.0.1:9")
    with listener:
        began = time.monotonic()
        answer = client.get(f"/agents/{running.id}/liveness").json()
    assert answer == {"liveness": {"reachable": True, "serving": False}}
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(("is_known", "serving"), [(True, True), (False, None)])
def test_a_hostname_with_a_certificate_of_ones_own_authority_is_trusted_where_the_cluster_names_it(
    client: APIClient, running: Agent, runtime: ScriptedRuntime, tmp_path: Path, is_known: bool, serving: bool | None
) -> None:
    certificates = Certificates(tmp_path)
    with Receiver([status(200)], tls=certificates.server("127.0.0.1")).listening() as visitors:
        authority = certificates.authority.read_text(encoding="ascii") if is_known else ""
        endpoint = Endpoint(public_url=visitors.url, management_url="https://127.0.0.1:9", authority=authority)
        runtime.addresses[running.namespace] = endpoint
        answer = client.get(f"/agents/{running.id}/liveness").json()
    assert answer == {"liveness": {"reachable": True, "serving": serving}}


def test_explain_names_the_missing_key_and_the_call_that_installs_it(
    client: APIClient, running: Agent, gateway_of: GatewayOf
) -> None:
    gateway_of(running)
    explanation = explain(client, running)
    assert (explanation["cause"], explanation["next"]) == ("NO_MODEL_KEY", f"PATCH /agents/{running.id}/llm-key")
    client.patch(f"/agents/{running.id}/llm-key", {"provider": "openai", "key": "sk"}, format="json")
    settle(running)
    explanation = explain(client, running)
    assert (explanation["cause"], explanation["next"]) == ("KEY_UNCHECKED", f"POST /agents/{running.id}/talk-test")
    Agent.objects.update(llm_key_checked=True)
    explanation = explain(client, running)
    assert (explanation["cause"], explanation["next"], explanation["evidence"]) == ("OK", None, [])


def test_explain_shows_a_failures_cause_and_evidence(
    client: APIClient, make_agent: MakeAgent, runtime: ScriptedRuntime
) -> None:
    runtime.comes_up_as = Phase.STARTING
    agent = settle(make_agent(), rounds=2)
    assert explain(client, agent)["cause"] == "STARTING"
    seen = {"cause": "CRASH_LOOP", "message": "exits with 1", "evidence": ["boom"]}
    runtime.set(agent.namespace, phase=Phase.FAILED, **seen)
    explanation = explain(client, settle(agent))
    assert (explanation["status"], explanation["cause"], explanation["evidence"]) == ("failed", "CRASH_LOOP", ["boom"])
    assert explanation["next"] == f"POST /agents/{agent.id}/rebuild"


def test_explain_of_a_running_agent_whose_engine_is_down(
    client: APIClient, running: Agent, runtime: ScriptedRuntime
) -> None:
    runtime.set(running.namespace, phase=Phase.UNHEALTHY, cause="ENGINE_HUNG", message="no answer", evidence=["x"])
    explanation = explain(client, running)
    assert (explanation["status"], explanation["cause"]) == ("running", "ENGINE_HUNG")


def test_explain_of_a_paused_agent_says_how_to_resume(client: APIClient, running: Agent) -> None:
    client.post(f"/agents/{running.id}/pause")
    assert explain(client, running)["cause"] == "STOPPING"
    explanation = explain(client, settle(running))
    assert (explanation["cause"], explanation["next"]) == ("OWNER", f"POST /agents/{running.id}/resume")


def test_a_ticket_opens_the_pods_page_once(client: APIClient, running: Agent, gateway_of: GatewayOf) -> None:
    gateway_of(running)
    answer = client.post(f"/agents/{running.id}/ticket")
    assert set(answer.json()["ticket"]) == {"url", "expiresAt"}
    url = answer.json()["ticket"]["url"]
    page = requests.Session().get(url, timeout=5)
    assert (page.status_code, page.headers["Content-Type"].split(";")[0]) == (200, "text/html")
    assert running.name in page.text
    assert requests.Session().get(url, timeout=5).status_code in {401, 403}


def test_a_ticket_needs_a_running_agent(client: APIClient, make_agent: MakeAgent) -> None:
    assert client.post(f"/agents/{make_agent().id}/ticket").status_code == 409
