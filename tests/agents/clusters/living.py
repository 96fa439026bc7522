"""Agents on a cluster with an observer and a reconciler, as in production."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from pytest_django import Settings

from accounts.models import User
from agents import creation
from agents.clusters.api.client import Connection
from agents.models import Agent, Placement, Pod
from agents.running import lifecycle
from tests.agents.clusters import ground
from tests.agents.clusters.reaping import ADMIN_KUBECONFIG
from tests.agents.conftest import PERSONA
from tests.agents.pod.bridge.process import eventually
from tests.doubles.kube_api import KubeApi

AGENTS = 6
WITHIN = 40.0


@contextmanager
def cluster(directory: Path, settings: Settings, *, refused: str = "") -> Iterator[KubeApi]:
    """The double; its pods become ready without programs. Paths that contain `refused` answer 403 to everybody."""
    _set(settings)
    with ground.double(directory, settings, run=False) as (found, _):
        if refused:
            found.fail(path_contains=refused, status=403, times=-1)
        with ground.observing(), ground.reconciling():
            yield found


@contextmanager
def anywhere(directory: Path, settings: Settings) -> Iterator[Connection]:
    """The double, or the cluster that TEST_KUBECONFIG names: a connection with its administrator's rights."""
    if not ground.is_real:
        with cluster(directory, settings) as found, closing(Connection("administrator", found.kubeconfig())) as one:
            yield one
        return
    if ADMIN_KUBECONFIG not in os.environ:
        pytest.skip(f"{ADMIN_KUBECONFIG} names no administrator, who would change what is ours")
    given = Path(os.environ[ADMIN_KUBECONFIG]).read_text(encoding="utf-8")
    _set(settings)
    with (
        ground.ground(directory, settings),
        ground.observing(),
        ground.reconciling(),
        closing(Connection("administrator", given)) as one,
    ):
        yield one


def _set(settings: Settings) -> None:
    settings.AGENT_RUNTIME, settings.LLM_KEY_CHECK = "kubernetes", False
    settings.MAX_FREE_AGENTS, settings.MAX_TRIALS = 100, 0


def create(owner: User, number: int = AGENTS) -> list[str]:
    """Create this many agents, without waiting for their pods. Returns their ids."""
    new = creation.checked(owner, creation.NewAgent(persona_id=PERSONA, tier="tiny"))
    return [creation.create(owner, new, actor=f"user:{owner.pk}")[0].pk for _ in range(number)]


def until(status: str, agents: list[str]) -> None:
    rows = Agent.objects.filter(pk__in=agents)

    def all_are() -> bool:
        return set(rows.values_list("status", flat=True)) == {status}

    try:
        eventually(all_are, within=WITHIN * ground.PATIENCE, what=status)
    except AssertionError as error:
        raise AssertionError([(one, one.cause, one.cause_message, one.desired) for one in rows]) from error


def delete(agents: list[str]) -> None:
    for agent in Agent.objects.filter(pk__in=agents):
        lifecycle.delete(agent, actor="test")


def leaves_nothing(api: KubeApi) -> None:
    """Checks that no namespace, no volume, and no row of a pod or placement is left."""
    eventually(lambda: not pods_of(api), within=WITHIN, what="the namespaces' end")
    api.wait(lambda: not api.objects("PersistentVolume"))
    assert not Pod.objects.exists()
    assert not Placement.objects.exists()


def pods_of(api: KubeApi) -> list[str]:
    return [one["metadata"]["name"] for one in api.objects("Namespace") if one["metadata"]["name"].startswith("pod-")]


def one_pod_each(api: KubeApi, agents: list[str]) -> None:
    """Checks that each agent has exactly one pod and one volume, and that there are no others."""
    wanted = {agent.namespace for agent in Agent.objects.filter(pk__in=agents)}
    eventually(lambda: set(pods_of(api)) == wanted, within=WITHIN, what="one namespace for each")
    assert {len(api.objects("Pod", name)) for name in wanted} == {1}
    assert len(api.objects("PersistentVolume")) == len(wanted)
