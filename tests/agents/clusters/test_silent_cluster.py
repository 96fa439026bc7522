"""A cluster that does not answer neither ends an observer nor delays other clusters."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from pytest_django import Settings

from agents.clusters.models import Cluster
from agents.clusters.probes import Want
from agents.runtimes import management
from agents.runtimes.kubernetes.driver import KubernetesRuntime
from agents.runtimes.management import GatewayHealth
from config import pulse
from tests.agents.clusters.observing import ObserverTurns, cluster_of, observing
from tests.agents.runtimes.conftest import ACCESS, NAMESPACE, pod_spec
from tests.doubles.kube_api import KubeApi


@pytest.fixture
def api(db: None, tmp_path: Path, settings: Settings) -> Iterator[KubeApi]:
    settings.POD_IMAGE = "registry.example/agentpods:1"
    settings.ENGINE_IMAGES = {"pi": "registry.example/pi:1"}
    with KubeApi(tmp_path / "cluster") as found:
        yield found


@pytest.fixture
def turns(api: KubeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObserverTurns]:
    """An observer of two clusters: a healthy one, and `silent`, whose API server is gone."""
    healthy = GatewayHealth(revision=7, has_key=True, engine={"phase": "ready", "revision": 7})
    monkeypatch.setattr(management, "health", lambda *_, **__: healthy)
    cluster_of(api.kubeconfig())
    with KubeApi(tmp_path / "silent") as gone:
        kubeconfig = gone.kubeconfig()
    Cluster.objects.create(name="silent", routing="none", kubeconfig=kubeconfig, capacity=0)
    with observing(wanted=lambda _: {NAMESPACE: Want(revision=7, access=ACCESS)}) as found:
        yield found


@pytest.fixture
def runtime() -> KubernetesRuntime:
    return KubernetesRuntime(gone_seconds=5)


def test_its_observer_goes_on_giving_its_sign_of_life(
    turns: ObserverTurns, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PULSE_FILE = str(tmp_path / "pulse")
    silent = Cluster.objects.get(name="silent")
    turns.until(lambda: len(turns.observer._caches) == 2)
    turns.until(lambda: not turns.observer._caches[silent.pk].is_alive())
    for _ in range(3):
        monkeypatch.setattr(pulse, "_touched_at", float("-inf"))
        Path(settings.PULSE_FILE).unlink(missing_ok=True)
        turns.observer.turn()
        assert Path(settings.PULSE_FILE).exists()


def test_it_is_named_to_who_asks(turns: ObserverTurns) -> None:
    turns.until(lambda: Cluster.objects.get(name="one").observed_at is not None)
    with pytest.raises(CommandError, match=r"^cluster silent was never observed$"):
        call_command("observe", "--check")


def test_questions_that_hang_there_hold_up_no_other_cluster(turns: ObserverTurns, runtime: KubernetesRuntime) -> None:
    silent = Cluster.objects.get(name="silent")
    turns.until(lambda: len(turns.observer._caches) == 2)
    answered = threading.Event()
    try:
        for _ in range(100):
            turns.observer._caches[silent.pk]._pool.submit(_hanging(answered))
        runtime.deploy(pod_spec())
        turns.row(NAMESPACE, phase="ready", revision=7)
    finally:
        answered.set()


def _hanging(answered: threading.Event) -> Any:
    return lambda: answered.wait(60)
