"""Agents that move from the cluster `here` to the cluster `there`; `two` are clusters that run pods."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django import Settings

from agents.backups import taking
from agents.clusters import moving
from agents.clusters.api.client import Connection
from agents.models import Agent, Cluster, Placement, Pod, Reason, Repository
from agents.runtimes.base import Phase
from tests.agents.clusters import ground
from tests.agents.clusters.observing import make_cluster
from tests.agents.conftest import GatewayOf, settle
from tests.doubles.runtime import ScriptedRuntime

OPERATOR = "operator:usr_0"


@pytest.fixture
def here(db: None) -> Cluster:
    return make_cluster("here")


@pytest.fixture
def there(db: None) -> Cluster:
    return make_cluster("there")


@pytest.fixture
def agent(
    running: Agent, here: Cluster, gateway_of: GatewayOf, runtime: ScriptedRuntime, settings: Settings, tmp_path: Path
) -> Agent:
    """An agent on the cluster `here` whose pod makes backups. New pods need some time to come up."""
    settings.AGENT_RUNTIME = "kubernetes"
    settings.BACKUP_STORE, settings.BACKUP_URL = str(tmp_path / "store"), "http://127.0.0.1:9"
    Repository.objects.create(agent=running, password="of the repository", made_at=timezone.now())
    Placement.objects.create(agent_id=running.id, cluster=here)
    Pod.objects.create(namespace=running.namespace, agent_id=running.id, cluster=here)
    gateway_of(running)
    runtime.comes_up_as = Phase.STARTING
    return running


def asked(agent: Agent, there: Cluster) -> Agent:
    moving.move(agent, to=there, actor=OPERATOR, why="a test")
    return settle(agent, rounds=3)


def backed_up(agent: Agent) -> Agent:
    taking.take_due(timezone.now() + taking.LEASE)
    return settle(agent, rounds=4)


def place(agent: Agent) -> tuple[str, str, str]:
    found = Placement.objects.select_related("cluster", "other").get(pk=agent.pk)
    return str(found.cluster), found.move, str(found.other or "")


def notes(agent: Agent) -> list[str]:
    return list(agent.transitions.filter(reason=Reason.MOVE).order_by("at", "id").values_list("note", flat=True))


def come_up(agent: Agent, runtime: ScriptedRuntime) -> Agent:
    runtime.set(agent.namespace, phase=Phase.READY)
    return settle(agent)


@pytest.fixture
def two(tmp_path: Path, settings: Settings, program: Path, url: str) -> Iterator[list[Cluster]]:
    settings.AGENT_RUNTIME, settings.LLM_KEY_CHECK = "kubernetes", False
    settings.BACKUP_STORE, settings.BACKUP_URL = str(tmp_path / "store"), url
    with ExitStack() as stack:
        rows = [
            stack.enter_context(ground.double(tmp_path / name, settings, run=True, name=name))[1]
            for name in ("one", "two")
        ]
        for beside in (ground.observing(), ground.reconciling(), ground.backing_up()):
            stack.enter_context(beside)
        yield rows


def has_no_volume(api: Connection) -> bool:
    return not api.get("/api/v1/persistentvolumes")["items"]
