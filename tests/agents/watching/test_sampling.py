"""The sweep of each minute: what it writes about a measurement, and what follows for the agent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from agents import tasks
from agents.backups.models import Backup, Kind, Stage
from agents.models import Agent, AgentQuota, Desired, QuotaStatus, Reason, Status, Transition
from agents.running import lifecycle
from agents.runtimes.base import Phase, Usage
from agents.watching import quota, sampling
from agents.watching.quota import Move, QuotaState
from tests.agents.conftest import MakeAgent, event_types, settle
from tests.at_length import examples
from tests.doubles.runtime import ScriptedRuntime
from tests.workers import database_url
from webhooks.models import Event

MiB = 2**20
TINY_MEMORY, TINY_DISK = 512 * MiB, 2048 * MiB
LITTLE = Usage(memory_bytes=51 * MiB, disk_bytes=5 * MiB)
FULL = Usage(memory_bytes=TINY_MEMORY, disk_bytes=5 * MiB)
START = datetime(2026, 11, 21, 12, tzinfo=UTC)
# Minutes in a row with the same use: at a border, with one part unknown, or after an hour without measurements.
used_bytes = st.sampled_from([0, *(int(TINY_MEMORY * share) + more for share in (0.8, 0.85, 0.95) for more in (0, 1))])
stretches = st.lists(
    st.tuples(st.one_of(st.none(), used_bytes, st.just(TINY_MEMORY)), st.integers(1, 6), st.sampled_from([1, 61])),
    min_size=1,
    max_size=7,
)


class MinuteClock:
    """The minutes between a runtime's measurements. `clock.minutes(5, usage)` lets five of them pass."""

    def __init__(self, runtime: ScriptedRuntime, traveller: Any) -> None:
        self.runtime, self.traveller = runtime, traveller

    def minutes(self, count: int, usage: Usage | None) -> None:
        for _ in range(count):
            self.traveller.shift(timedelta(minutes=1))
            if usage:
                self.runtime.measured = dict.fromkeys(self.runtime.pods, usage)
                tasks.sample()


@pytest.fixture
def traveller() -> Iterator[Any]:
    with time_machine.travel(START, tick=False) as frozen:
        yield frozen


@pytest.fixture
def clock(traveller: Any, runtime: ScriptedRuntime) -> MinuteClock:
    return MinuteClock(runtime, traveller)


@pytest.fixture
def agent(clock: MinuteClock, make_agent: MakeAgent, client: APIClient) -> Agent:
    """A running tiny agent at a fixed time. The owner's client is signed in at this time."""
    return settle(make_agent())


def quota_of(client: APIClient, agent: Agent) -> dict[str, Any]:
    body: dict[str, Any] = client.get(f"/agents/{agent.id}/quota").json()["quota"]
    return body


def notes(agent: Agent) -> list[str]:
    rows = Transition.objects.filter(agent=agent, note__startswith="quota").order_by("at", "id")
    return list(rows.values_list("note", flat=True))


def stopped_for_quota(clock: MinuteClock, agent: Agent) -> Agent:
    clock.minutes(65, FULL)
    return settle(agent)


def test_a_measured_agent_shows_what_it_uses_and_what_it_may(
    client: APIClient, clock: MinuteClock, agent: Agent
) -> None:
    assert client.get(f"/agents/{agent.id}/quota").json() == {"quota": None}
    clock.minutes(1, Usage(memory_bytes=128 * MiB, disk_bytes=512 * MiB))
    shown = {
        "memoryUsedBytes": 128 * MiB,
        "memoryLimitBytes": TINY_MEMORY,
        "memoryPct": 0.25,
        "diskUsedBytes": 512 * MiB,
        "diskTotalBytes": TINY_DISK,
        "diskPct": 0.25,
        "status": "ok",
        "updatedAt": "2026-11-21T12:01:00Z",
    }
    assert client.get(f"/agents/{agent.id}/quota").json() == {"quota": shown}
    body = client.get(f"/agents/{agent.id}").json()["agent"]
    assert (body["quota"], body["quotaStatus"]) == (shown, "ok")


def test_each_minute_replaces_the_snapshot(client: APIClient, clock: MinuteClock, agent: Agent) -> None:
    clock.minutes(1, FULL)
    clock.minutes(1, LITTLE)
    shown = quota_of(client, agent)
    assert (shown["memoryUsedBytes"], shown["updatedAt"]) == (51 * MiB, "2026-11-21T12:02:00Z")


def test_another_ones_quota_is_not_there(other: APIClient, agent: Agent) -> None:
    assert other.get(f"/agents/{agent.id}/quota").status_code == 404


def test_the_fuller_of_memory_and_disk_counts(client: APIClient, clock: MinuteClock, agent: Agent) -> None:
    clock.minutes(3, Usage(memory_bytes=MiB, disk_bytes=int(TINY_DISK * 0.9)))
    assert quota_of(client, agent)["status"] == "warn"


def test_an_unknown_sample_is_ignored_and_neither_counts_nor_breaks_a_row(
    client: APIClient, clock: MinuteClock, agent: Agent
) -> None:
    clock.minutes(2, FULL)
    clock.minutes(2, Usage(memory_bytes=None, disk_bytes=None))
    assert quota_of(client, agent)["updatedAt"] == "2026-11-21T12:02:00Z"
    clock.minutes(1, Usage(memory_bytes=None, disk_bytes=MiB))
    shown = quota_of(client, agent)
    assert (shown["status"], shown["memoryUsedBytes"], shown["memoryPct"], shown["diskUsedBytes"]) == (
        *("ok", None, None),
        MiB,
    )
    clock.minutes(1, FULL)
    assert quota_of(client, agent)["status"] == "warn"


def test_what_is_measured_while_a_backup_runs_does_not_count(
    client: APIClient, clock: MinuteClock, agent: Agent
) -> None:
    """The measurement contains the backup's memory. The owner sees it all the same."""
    clock.minutes(2, FULL)
    asked = {"asked_at": timezone.now(), "kind": Kind.ASKED, "generation": agent.generation, "actor": "owner"}
    made = Backup.objects.create(agent=agent, name="one", namespace=agent.namespace, stage=Stage.RUNNING, **asked)
    clock.minutes(5, FULL)
    shown = quota_of(client, agent)
    assert (shown["status"], shown["memoryPct"]) == ("ok", 1.0)
    Backup.objects.filter(pk=made.pk).update(stage=Stage.DONE)
    clock.minutes(1, FULL)
    assert quota_of(client, agent)["status"] == "warn"


def test_an_old_snapshot_has_no_percentages_and_keeps_its_status(
    client: APIClient, clock: MinuteClock, agent: Agent
) -> None:
    clock.minutes(3, FULL)
    clock.minutes(5, None)
    assert quota_of(client, agent)["memoryPct"] == 1.0
    clock.minutes(1, None)
    shown = quota_of(client, agent)
    assert (shown["memoryPct"], shown["diskPct"], shown["status"]) == (None, None, "warn")
    assert shown["memoryUsedBytes"] == TINY_MEMORY


def test_a_task_that_runs_twice_counts_a_minute_once(client: APIClient, clock: MinuteClock, agent: Agent) -> None:
    clock.minutes(2, FULL)
    tasks.sample()
    tasks.sample()
    assert quota_of(client, agent)["status"] == "ok"


def test_a_pod_that_stays_over_its_limit_is_really_stopped_with_its_event(
    client: APIClient, clock: MinuteClock, agent: Agent, runtime: ScriptedRuntime
) -> None:
    clock.minutes(64, FULL)
    assert settle(agent).status == Status.RUNNING
    assert quota_of(client, agent)["status"] == "grace"
    clock.minutes(1, FULL)
    assert settle(agent).status == Status.STOPPED
    assert runtime.pods[agent.namespace].seen.phase == Phase.STOPPED
    assert event_types(agent) == ["agent.running", "agent.stopped"]
    data = json.loads(Event.objects.get(type="agent.stopped").body)["data"]
    assert data == {"from": "running", "to": "stopped", "reason": "quota"}
    body = client.get(f"/agents/{agent.id}").json()["agent"]
    assert (body["status"], body["quotaStatus"], body["quota"]["status"]) == ("stopped", "paused", "paused")
    assert notes(agent) == [
        "quota ok to warn: memory 100%, disk 0%",
        "quota warn to grace: memory 100%, disk 0%",
        "quota grace to paused: memory 100%, disk 0%",
    ]


def test_a_deadline_that_passes_while_no_worker_runs_is_met_by_the_first_sample_after_it(
    clock: MinuteClock, agent: Agent
) -> None:
    clock.minutes(5, FULL)
    clock.minutes(600, None)
    clock.minutes(1, FULL)
    assert settle(agent).status == Status.STOPPED


def test_a_failed_agent_whose_pod_fills_its_disk_is_stopped_too(
    clock: MinuteClock, agent: Agent, runtime: ScriptedRuntime
) -> None:
    lifecycle.fail(agent, generation=1, cause="DISK_FULL", message="full", evidence=[], now=START)
    runtime.set(agent.namespace, phase=Phase.FAILED)
    clock.minutes(65, FULL)
    assert settle(agent).status == Status.STOPPED


def test_resume_gives_a_fresh_hour(client: APIClient, clock: MinuteClock, agent: Agent) -> None:
    stopped_for_quota(clock, agent)
    clock.minutes(3, Usage(memory_bytes=0, disk_bytes=MiB))
    assert quota_of(client, agent)["status"] == "paused"
    assert client.post(f"/agents/{agent.id}/resume").json()["agent"]["quotaStatus"] == "ok"
    assert settle(agent).status == Status.RUNNING
    clock.minutes(64, FULL)
    assert settle(agent).status == Status.RUNNING
    clock.minutes(1, FULL)
    assert settle(agent).status == Status.STOPPED
    assert event_types(agent) == ["agent.running", "agent.stopped"] * 2


def test_a_rebuild_of_a_stopped_pod_gives_a_fresh_hour_and_one_of_a_running_pod_does_not(
    client: APIClient, clock: MinuteClock, agent: Agent
) -> None:
    clock.minutes(5, FULL)
    assert client.post(f"/agents/{agent.id}/rebuild").json()["agent"]["quotaStatus"] == "grace"
    settle(agent)
    clock.minutes(60, FULL)
    assert settle(agent).status == Status.STOPPED
    assert client.post(f"/agents/{agent.id}/rebuild").json()["agent"]["quotaStatus"] == "ok"
    assert settle(agent).status == Status.RUNNING


def test_a_larger_tier_ends_every_state_and_a_smaller_one_none(
    client: APIClient, clock: MinuteClock, agent: Agent
) -> None:
    stopped_for_quota(clock, agent)
    assert client.patch(f"/agents/{agent.id}", {"tier": "small"}, format="json").json()["agent"]["quotaStatus"] == "ok"
    assert notes(agent)[-1] == "quota paused to ok"
    client.post(f"/agents/{agent.id}/resume")
    settle(agent)
    clock.minutes(5, Usage(memory_bytes=1024 * MiB, disk_bytes=MiB))
    shown = client.patch(f"/agents/{agent.id}", {"tier": "tiny"}, format="json").json()["agent"]
    assert shown["quotaStatus"] == "grace"


def test_an_owner_who_paused_first_is_not_stopped_for_quota(
    client: APIClient, clock: MinuteClock, agent: Agent
) -> None:
    clock.minutes(64, FULL)
    client.post(f"/agents/{agent.id}/pause")
    clock.minutes(5, FULL)
    agent = settle(agent)
    assert (agent.status, agent.operation) == (Status.STOPPED, Reason.OWNER)
    assert quota_of(client, agent)["status"] == "grace"
    assert client.post(f"/agents/{agent.id}/resume").json()["agent"]["quotaStatus"] == "ok"


def test_an_owner_who_resumes_while_the_sweep_decides_is_not_stopped(clock: MinuteClock, agent: Agent) -> None:
    """The state has changed since the sweep read it, so the sweep does not stop the agent."""
    clock.minutes(64, FULL)
    row = AgentQuota.objects.get()
    decided = Move(
        agent_id=agent.id,
        was=QuotaState(QuotaStatus.GRACE, row.recent, row.since),
        to=QuotaStatus.PAUSED,
        why="memory 100%",
    )
    lifecycle.pause(agent, reason=Reason.OWNER, actor="user:test")
    lifecycle.resume(settle(agent), actor="user:test")
    sampling.stop(decided, now=START + timedelta(minutes=65))
    agent = settle(agent)
    assert (agent.status, AgentQuota.objects.get().status) == (Status.RUNNING, "ok")


def test_an_agent_that_is_deleted_while_paused_for_quota_goes(
    client: APIClient, clock: MinuteClock, agent: Agent
) -> None:
    stopped_for_quota(clock, agent)
    assert client.delete(f"/agents/{agent.id}").status_code == 204
    assert settle(agent).status == Status.DELETED
    assert client.get(f"/agents/{agent.id}/quota").status_code == 404


def test_pods_of_strangers_earlier_generations_and_deleted_agents_are_not_written(
    clock: MinuteClock, agent: Agent
) -> None:
    names = [
        "pod-stranger-1",
        f"pod-{agent.suffix}-7",
        f"pod-{agent.suffix}-{10**20}",
        "no pod at all",
        'pod-{",}\\-1',
        "",
    ]
    assert sampling.record(dict.fromkeys(names, LITTLE), now=START) == 0
    assert not AgentQuota.objects.exists()
    assert sampling.record(dict.fromkeys([*names, agent.namespace], LITTLE), now=START) == 1


def test_an_agents_first_measurement_is_written_beside_those_that_replace_earlier_ones(
    clock: MinuteClock, agent: Agent, make_agent: MakeAgent
) -> None:
    clock.minutes(1, FULL)
    later = settle(make_agent())
    at = START + timedelta(minutes=2)
    assert sampling.record({agent.namespace: FULL, later.namespace: LITTLE, "pod-stranger-1": FULL}, now=at) == 2
    assert dict(AgentQuota.objects.values_list("agent", "recent")) == {agent.id: "ff", later.id: "l"}


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stretches)
def test_what_the_sweep_writes_is_what_the_state_machine_says(
    agent: Agent, stretches: list[tuple[int | None, int, int]]
) -> None:
    AgentQuota.objects.all().delete()
    Agent.objects.filter(pk=agent.pk).update(desired=Desired.RUNNING)
    now, expected = START, QuotaState(QuotaStatus.OK, "", START + timedelta(minutes=stretches[0][2]))
    for memory, minutes, gap in stretches:
        for minute in range(minutes):
            now += timedelta(minutes=1 if minute else gap)
            assert sampling.record({agent.namespace: Usage(memory_bytes=memory, disk_bytes=0)}, now=now) == 1
            if memory is not None:
                expected = quota.step(expected, pct=memory / TINY_MEMORY, now=now)
            row = AgentQuota.objects.get()
            assert QuotaState(QuotaStatus(row.status), row.recent, row.since) == expected


def test_a_second_sampler_at_the_same_time_writes_nothing(clock: MinuteClock, agent: Agent) -> None:
    with psycopg.connect(database_url()) as elsewhere:
        elsewhere.execute("SELECT pg_advisory_lock(%s)", [sampling.ADVISORY_LOCK])
        assert sampling.record({agent.namespace: LITTLE}, now=START) == 0
        elsewhere.execute("SELECT pg_advisory_unlock(%s)", [sampling.ADVISORY_LOCK])
    assert sampling.record({agent.namespace: LITTLE}, now=START) == 1


@pytest.mark.parametrize("count", [1, 3])
def test_a_sweep_takes_the_same_few_statements_for_any_number_of_agents(
    clock: MinuteClock, make_agent: MakeAgent, count: int
) -> None:
    for _ in range(count):
        settle(make_agent())
    clock.minutes(2, FULL)
    with CaptureQueriesContext(connection) as statements:
        clock.minutes(1, FULL)
    assert AgentQuota.objects.filter(status=QuotaStatus.WARN).count() == count
    assert len(statements) <= 10
