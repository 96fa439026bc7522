"""Why an agent is in its state. The next call that `explain` names would be accepted."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agents.configuring import llm_key
from agents.errors import renew_url
from agents.models import Agent, AgentQuota, QuotaStatus, Reason
from agents.running import lifecycle
from agents.runtimes.base import Endpoint, Phase
from agents.watching import explanation
from tests.agents.conftest import GatewayOf, MakeAgent, settle
from tests.doubles.bridge import BridgeDouble
from tests.doubles.certificates import Certificates
from tests.doubles.provider import ModelVendor
from tests.doubles.receiver import Receiver, status
from tests.doubles.runtime import ScriptedRuntime


def causes(agent: Agent) -> list[str]:
    """All causes that `explain` names, the most urgent first."""
    found = explanation.of(agent)
    return [found.cause, *(other.cause for other in found.others)]


def stopped(agent: Agent, reason: Reason) -> Agent:
    lifecycle.pause(agent, reason=reason, actor="billing")
    return settle(agent)


@pytest.mark.parametrize("reason", [Reason.OWNER, Reason.TRIAL])
def test_an_agent_whose_free_time_is_over_is_paid_for_before_it_can_be_resumed(running: Agent, reason: Reason) -> None:
    agent = stopped(running, reason)
    agent.entitled_until = agent.created_at
    assert explanation.of(agent).next == renew_url(agent.id)


def test_an_agent_that_was_paid_for_after_its_stop_is_resumed(running: Agent) -> None:
    agent = stopped(running, Reason.TRIAL)
    agent.entitled_until = None
    found = explanation.of(agent)
    assert (found.cause, found.next) == ("TRIAL", f"POST /agents/{agent.id}/resume")


def test_a_failed_agent_whose_free_time_is_over_is_paid_for_first(
    make_agent: MakeAgent, runtime: ScriptedRuntime
) -> None:
    runtime.comes_up_as = Phase.FAILED
    agent = settle(make_agent())
    assert explanation.of(agent).next == f"POST /agents/{agent.id}/rebuild"
    agent.entitled_until = agent.created_at
    assert explanation.of(agent).next == renew_url(agent.id)


def measured(agent: Agent, status: QuotaStatus) -> Agent:
    """The agent with a measurement of 510 of its 512 MiB."""
    used = {"memory_used_bytes": 510 * 2**20, "memory_limit_bytes": 512 * 2**20, "disk_used_bytes": None}
    at = datetime(2026, 11, 21, 12, tzinfo=UTC)
    AgentQuota.objects.create(agent=agent, status=status, since=at, updated_at=at, disk_total_bytes=2**31, **used)
    return Agent.objects.get(pk=agent.pk)


def test_a_pod_in_grace_is_told_until_when_and_what_helps_before_all_else(running: Agent) -> None:
    found = explanation.of(measured(running, QuotaStatus.GRACE))
    assert (found.cause, found.next) == ("QUOTA_GRACE", f"PATCH /agents/{running.id}")
    assert "stopped at 13:00 UTC" in found.message
    assert found.evidence == ["memory: 510 of 512 MiB (100%)", "disk: unknown"]


def test_a_pod_near_its_limit_says_so_where_nothing_else_is_wrong(running: Agent, gateway_of: GatewayOf) -> None:
    gateway_of(running)
    agent = measured(running, QuotaStatus.WARN)
    assert explanation.of(agent).cause == "NO_MODEL_KEY"
    agent.llm_key_hash = "0" * 64
    assert explanation.of(agent).cause == "QUOTA_WARN"


def test_the_most_urgent_cause_is_named_and_the_others_are_listed(
    running: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    gateway_of(running)
    bridge.cause, bridge.message = "DISK_FULL", "the disk of the agent's data is full"
    agent = measured(running, QuotaStatus.GRACE)
    assert causes(agent) == ["QUOTA_GRACE", "DISK_FULL", "NO_MODEL_KEY"]
    bridge.cause = None
    assert causes(agent) == ["QUOTA_GRACE", "NO_MODEL_KEY"]
    AgentQuota.objects.update(status=QuotaStatus.WARN)
    agent = Agent.objects.get(pk=agent.pk)
    assert causes(agent) == ["NO_MODEL_KEY", "QUOTA_WARN"]
    (line,) = [line for line in explanation.of(agent).lines if line.startswith("also ")]
    assert line.startswith("also QUOTA_WARN: the memory or disk of the tier tiny is nearly or fully used up")
    assert line.endswith(f"next: PATCH /agents/{agent.pk}")


def test_an_agent_that_is_down_also_says_what_would_keep_it_down(
    make_agent: MakeAgent, runtime: ScriptedRuntime
) -> None:
    agent = stopped(settle(make_agent()), Reason.OWNER)
    assert causes(agent) == ["OWNER"]
    agent.entitled_until = agent.created_at
    assert causes(agent) == ["OWNER", "UNPAID"]
    agent.operation = Reason.TRIAL
    assert causes(agent) == ["TRIAL"]
    runtime.comes_up_as = Phase.FAILED
    failed = measured(settle(make_agent()), QuotaStatus.GRACE)
    failed.entitled_until = failed.created_at
    assert causes(failed) == ["BOOT_TIMEOUT", "UNPAID", "QUOTA_GRACE"]


def test_an_unwell_pod_is_not_asked_and_comes_before_its_key(running: Agent, runtime: ScriptedRuntime) -> None:
    runtime.set(running.namespace, phase=Phase.UNHEALTHY)
    assert causes(running) == ["ENGINE_DOWN", "NO_MODEL_KEY"]


def test_a_key_that_could_not_be_checked_is_told_until_the_model_has_answered(
    running: Agent, gateway_of: GatewayOf, settings: Any
) -> None:
    with ModelVendor() as provider:
        settings.LLM_KEY_CHECK, settings.LLM_BASE_URLS = True, {"openai": "http://127.0.0.1:1/v1"}
        agent = llm_key.install(running, provider="openai", key="sk-one")
        gateway = gateway_of(agent, revision=agent.spec_revision, llm_key="sk-one", llm_base_url=f"{provider.url}/v1")
        assert causes(agent) == ["KEY_UNCHECKED"]
        assert explanation.of(agent).next == f"POST /agents/{agent.pk}/talk-test"
        assert gateway.call_model().status_code == 200
        assert causes(agent) == ["OK"]
        gateway.stop()
    assert Agent.objects.get(pk=agent.pk).llm_key_checked


def test_a_gateway_that_does_not_answer_is_no_health(running: Agent) -> None:
    running.llm_key_hash = "0" * 64
    found = explanation.of(running)
    assert (found.cause, found.next) == ("GATEWAY_DOWN", f"GET /agents/{running.id}/liveness")
    assert found.evidence == [found.message]


def test_a_certificate_that_visitors_do_not_trust_is_named_with_the_reason(
    running: Agent, runtime: ScriptedRuntime, tmp_path: Path
) -> None:
    with Receiver([status(200)], tls=Certificates(tmp_path).server("127.0.0.1")).listening() as visitors:
        endpoint = Endpoint(public_url=visitors.url, management_url="https://127.0.0.1:9")
        runtime.addresses[running.namespace] = endpoint
        (found,) = [one for one in explanation.of(running).others if one.cause == "CERTIFICATE"]
    assert found.evidence == [f"{visitors.url}: self-signed certificate in certificate chain"]
    assert found.next == f"GET /agents/{running.id}/liveness"


def test_what_only_the_bridge_of_a_pod_that_is_well_knows_is_told(
    running: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    gateway_of(running)
    running.llm_key_hash = "0" * 64
    bridge.cause, bridge.message = "DISK_FULL", "the disk of the agent's data is full"
    found = explanation.of(running)
    assert (found.cause, found.message, found.next) == ("DISK_FULL", bridge.message, f"PATCH /agents/{running.id}")


@pytest.mark.parametrize("highest", ["tiny", "large"])
def test_a_larger_tier_is_only_named_to_those_who_may_have_it(running: Agent, settings: Any, highest: str) -> None:
    settings.MAX_TRIAL_TIER = highest
    agent = measured(running, QuotaStatus.GRACE)
    agent.paid = highest == "large"
    assert explanation.of(agent).next == f"GET /agents/{agent.id}/quota"


def test_a_pod_stopped_for_quota_shows_what_it_took_and_how_it_comes_back(running: Agent) -> None:
    found = explanation.of(measured(stopped(running, Reason.QUOTA), QuotaStatus.PAUSED))
    assert (found.cause, found.next) == ("QUOTA", f"POST /agents/{running.id}/resume")
    assert "new hour" in found.message
    assert found.evidence[0] == "memory: 510 of 512 MiB (100%)"


def test_an_agent_that_is_paused_after_its_data_was_lost_is_not_told_that_its_data_is_kept(running: Agent) -> None:
    lifecycle.fail(
        running,
        generation=running.generation,
        now=running.status_since,
        cause="DATA_LOST",
        message="the agent's disk is empty",
        evidence=[],
    )
    agent = stopped(running, Reason.OWNER)
    found = explanation.of(agent)
    assert (found.status, found.cause, found.next) == ("stopped", "DATA_LOST", f"POST /agents/{agent.id}/rebuild")
    assert found.message == "the pod is stopped: paused by its owner; the agent's disk is empty"
    assert not lifecycle.rebuild(agent, actor="owner").data_expected, "who asks for it knows"
