"""Rows of clusters, and observers of the cluster double `api`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agents.clusters.api.client import Connection
from agents.models import Cluster
from tests.agents.backups.killing import endpoint, store
from tests.agents.backups.real import program, url
from tests.agents.clusters.moves import agent, here, there, two
from tests.agents.clusters.observing import ObserverTurns, cluster_of, make_cluster, observing
from tests.doubles.kube_api import KubeApi

__all__ = ["agent", "endpoint", "here", "program", "store", "there", "two", "url"]

Observed = Callable[..., ObserverTurns]


@pytest.fixture
def cluster(db: None) -> Cluster:
    return make_cluster("one")


@pytest.fixture
def row(api: KubeApi) -> Cluster:
    return cluster_of(api.kubeconfig())


@pytest.fixture
def observed(api: KubeApi, row: Cluster) -> Iterator[Observed]:
    """`observed()`: start another observer and wait until it has seen all objects."""
    opened: list[Any] = []

    def start(**given: Any) -> ObserverTurns:
        connection_ = Connection("one", api.kubeconfig("observe"))
        opened.append(observing(**{"connect": lambda _: connection_, **given}))
        turns: ObserverTurns = opened[-1].__enter__()
        turns.until(lambda: turns.cluster_cache and turns.cluster_cache.is_complete())
        turns.observer.turn()
        return turns

    yield start
    for one in opened:
        one.__exit__(None, None, None)
