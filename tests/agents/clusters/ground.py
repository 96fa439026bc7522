"""The cluster for tests with pods: the double, or the cluster that TEST_KUBECONFIG names (CONTRIBUTING.md)."""

from __future__ import annotations

import base64
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from django.db import connection
from pytest_django import Settings

from agents.backups import taking
from agents.clusters import connections
from agents.clusters.models import Cluster
from agents.clusters.observer import Observer
from agents.clusters.probes import Want
from agents.running import reconciler
from agents.runtimes.base import PodSpec
from agents.runtimes.kubernetes.driver import KubernetesRuntime
from tests.agents.clusters import reaping
from tests.agents.clusters.reaping import KUBECONFIG
from tests.deploy import chart
from tests.doubles.kube_api import KubeApi
from tests.doubles.pi import install_double
from tests.patience import Patience

# The installation's name in the chart that made the account. A policy limits the account to this installation.
INSTALLATION = os.environ.get("TEST_INSTALLATION", "agentpods-test")
# The settings with the images for a real cluster, and the environment variables that give their values.
IMAGES = {"POD_IMAGE": "TEST_POD_IMAGE", "ENGINE_IMAGES": "TEST_ENGINE_IMAGES"}
GONE_SECONDS = 120.0
END_SECONDS = 90.0

is_real = KUBECONFIG in os.environ
# A real cluster is slower: pods are scheduled, volumes made, containers started.
PATIENCE = 6.0 if is_real else 1.0


def account() -> tuple[str, str]:
    """Namespace and name of the chart's account that tests use on a real cluster, read from its token."""
    given = yaml.safe_load(Path(os.environ[KUBECONFIG]).read_text(encoding="utf-8"))
    body = given["users"][0]["user"]["token"].split(".")[1]
    subject = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))["sub"]
    _, _, namespace, name = subject.split(":")
    return namespace, name


@contextmanager
def ground(directory: Path, settings: Settings, *, run: bool = True) -> Iterator[Cluster]:
    """The row of a cluster. Afterwards, no object of this test is left on the cluster."""
    if is_real:
        with _real(settings) as row:
            yield row
        return
    with double(directory, settings, run=run) as (_, row):
        yield row


@contextmanager
def double(
    directory: Path, settings: Settings, *, run: bool, name: str = "double"
) -> Iterator[tuple[KubeApi, Cluster]]:
    """The double, with the rights that the chart gives. With `run=False`, pods become ready without programs."""
    settings.POD_IMAGE = "registry.example/agentpods:1"
    settings.ENGINE_IMAGES = {"pi": "registry.example/pi:1"}
    with KubeApi(
        directory / "cluster", run=run, engines=install_double(directory / "engines"), probe_seconds=0.2
    ) as api:
        api.install(chart.accounts(remote=True))
        kubeconfig = api.kubeconfig(chart.username("remote"))
        row = Cluster.objects.create(name=name, kubeconfig=kubeconfig, routing="none", capacity=100)
        yield api, row


@contextmanager
def _real(settings: Settings) -> Iterator[Cluster]:
    row = real_row(settings)
    _clear(row, settings.INSTALLATION)  # left by an earlier run that was killed
    try:
        yield row
    finally:
        _clear(row, settings.INSTALLATION)


def real_row(settings: Settings) -> Cluster:
    """The row of the cluster that TEST_KUBECONFIG names. All objects of tests are deleted there after the test run."""
    settings.POD_IMAGE = os.environ["TEST_POD_IMAGE"]
    settings.ENGINE_IMAGES = dict(one.split("=", 1) for one in os.environ["TEST_ENGINE_IMAGES"].split(","))
    settings.INSTALLATION = INSTALLATION
    reaping.after_us(INSTALLATION)
    return Cluster.objects.create(
        name="real",
        kubeconfig=Path(os.environ[KUBECONFIG]).read_text(encoding="utf-8"),
        routing="none",
        capacity=100,
        control_cidrs=os.environ.get("TEST_FROM_CIDRS", "0.0.0.0/0").split(","),
        pull_policy=os.environ.get("TEST_PULL_POLICY", "IfNotPresent"),
        storage_class=os.environ.get("TEST_STORAGE_CLASS", ""),
        stats_through_api=os.environ.get("TEST_STATS_THROUGH_API") == "1",
    )


def _clear(row: Cluster, installation: str) -> None:
    """Delete what this test, or an earlier run that was killed, has left. Waits until all is gone."""
    api, patience = connections.of(row), Patience(GONE_SECONDS)
    while left := reaping.clear(api, installation):
        assert not patience.ended(), f"namespaces stay: {left}"
        time.sleep(0.5)


class ToldRuntime(KubernetesRuntime):
    """Remembers the last order for each pod, as the rows of agents do in production."""

    def __init__(self) -> None:
        super().__init__(gone_seconds=GONE_SECONDS)
        self.wants: dict[str, Want] = {}

    def deploy(self, spec: PodSpec) -> None:
        self._note(spec)
        super().deploy(spec)

    def configure(self, spec: PodSpec) -> None:
        super().configure(spec)
        self._note(spec)

    def wanted(self, _: int) -> Mapping[str, Want]:
        return dict(self.wants)

    def _note(self, spec: PodSpec) -> None:
        self.wants[spec.namespace] = Want(spec.config.revision, spec.access)


@contextmanager
def observing(**given: Any) -> Iterator[None]:
    """Run an observer in a thread, as the process `observe` does."""
    with _beside("observer", Observer(**given).run):
        yield


@contextmanager
def reconciling() -> Iterator[None]:
    """Scan again and again for agents that are due, as Celery beat and a worker do."""

    def scan(stop: threading.Event) -> None:
        while not stop.wait(0.1):
            reconciler.reconcile_due()

    with _beside("reconciler", scan):
        yield


@contextmanager
def backing_up() -> Iterator[None]:
    """Scan again and again for backups that are due."""

    def scan(stop: threading.Event) -> None:
        while not stop.wait(0.3):
            taking.take_due()

    with _beside("backups", scan):
        yield


@contextmanager
def _beside(name: str, work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run `work` in a thread with its own database connection, until the block ends."""
    stop = threading.Event()

    def run() -> None:
        try:
            work(stop)
        finally:
            connection.close()

    thread = threading.Thread(target=run, name=name)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(END_SECONDS)
        assert not thread.is_alive(), f"the {name} does not end"


@contextmanager
def runtime_on(directory: Path, settings: Settings) -> Iterator[ToldRuntime]:
    """The runtime on the cluster of `ground`, with an observer."""
    with ground(directory, settings), observed() as runtime:
        yield runtime


@contextmanager
def observed() -> Iterator[ToldRuntime]:
    """The runtime on all clusters that have a row, with an observer."""
    runtime = ToldRuntime()
    with observing(wanted=runtime.wanted):
        yield runtime
