"""A fleet on simulated nodes, and workers that are killed. These tests take minutes."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from accounts.models import User
from agents.models import Agent, Cluster, Pod
from tests.agents.clusters import ground
from tests.agents.clusters.living import create, delete, leaves_nothing, one_pod_each
from tests.agents.pod.bridge.process import eventually
from tests.doubles.kube_api import KubeApi
from tests.workers import Workers

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

FLEET = 1000
BACK_WITHIN = 60.0
KILLS = 12


@pytest.fixture
def api(tmp_path: Path, settings: Settings, catalog: None) -> Iterator[KubeApi]:
    settings.AGENT_RUNTIME, settings.LLM_KEY_CHECK = "kubernetes", False
    settings.MAX_FREE_AGENTS, settings.MAX_TRIALS = 10 * FLEET, 0
    with ground.double(tmp_path, settings, run=False) as (found, row):
        Cluster.objects.filter(pk=row.pk).update(capacity=10 * FLEET)
        for number in range(20):
            found.add_node(f"simulated-{number}")
        yield found


def until(status: str, agents: list[str], within: float) -> None:
    rows = Agent.objects.filter(pk__in=agents).exclude(status=status)
    eventually(lambda: not rows.exists(), within=within, what=f"{status}: {rows.values('cause', 'cause_message')[:3]}")


def test_a_thousand_agents_cost_nothing_when_idle_and_are_seen_again_within_a_minute(owner: User, api: KubeApi) -> None:
    with ground.observing(), ground.reconciling():
        agents = create(owner, FLEET)
        until("running", agents, within=600)
        before = (api.writes, api.requests)
        time.sleep(15)
        assert (api.writes, api.requests) == before
    # While no observer runs, some pods are lost. Their rows still show the old state.
    lost = random.Random(1).sample(agents, 20)
    namespaces = [agent.namespace for agent in Agent.objects.filter(pk__in=lost)]
    for namespace in namespaces:
        api.script(namespace, "crash")
    began = time.monotonic()
    with ground.observing(), ground.reconciling():
        seen = Pod.objects.filter(namespace__in=namespaces).exclude(phase="ready")
        eventually(lambda: seen.count() == len(lost), within=BACK_WITHIN, what="all that was lost")
        assert time.monotonic() - began < BACK_WITHIN
        for namespace in namespaces:
            api.script(namespace, None)
        delete(agents)
        until("deleted", agents, within=600)
    leaves_nothing(api)


def test_workers_that_are_killed_leave_no_orphan_and_no_double(
    owner: User, api: KubeApi, celery: Workers, settings: Settings
) -> None:
    environment = {
        "AGENT_RUNTIME": "kubernetes",
        "POD_IMAGE": settings.POD_IMAGE,
        "ENGINE_IMAGES": "pi=registry.example/pi:1",
        "LLM_KEY_CHECK": "0",
    }
    chance = random.Random(7)
    celery.beat()
    with ground.observing():
        agents = create(owner, 20)
        kill_again_and_again(celery, environment, chance)
        until("running", agents, within=180)
        one_pod_each(api, agents)
        delete(agents)
        kill_again_and_again(celery, environment, chance)
        until("deleted", agents, within=180)
    leaves_nothing(api)


def kill_again_and_again(celery: Workers, environment: dict[str, str], chance: random.Random) -> None:
    """Kill workers with SIGKILL at random moments, each followed by a new one. The last worker stays."""
    for _ in range(KILLS // 2):
        worker = celery.start("lifecycle", "default", environment=environment)
        time.sleep(chance.uniform(0.1, 1.5))
        worker.send_signal(signal.SIGKILL)
        worker.wait(10)
    celery.start("lifecycle", "default", environment=environment)
