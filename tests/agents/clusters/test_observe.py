"""The command `observe`, and `observe --check`, which tells an orchestrator whether each cluster is observed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from agents.clusters import observer, pod_rows
from agents.clusters.models import Cluster
from tests.agents.clusters.observing import cluster_of
from tests.doubles.kube_api import KubeApi

LATE = r"^cluster late was last observed 10\d s ago\ncluster never was never observed$"


@pytest.fixture
def api(tmp_path: Path) -> Iterator[KubeApi]:
    with KubeApi(tmp_path / "cluster") as found:
        yield found


def test_the_check_names_clusters_that_nobody_observes(db: None) -> None:
    call_command("observe", "--check")
    now = timezone.now()
    for name, seen in {"good": now, "never": None, "late": now - timedelta(seconds=100)}.items():
        Cluster.objects.create(name=name, routing="none", observed_at=seen)
    with pytest.raises(
        CommandError, match=r"^cluster late was last observed 10\d s ago\ncluster never was never observed$"
    ):
        call_command("observe", "--check")


@pytest.mark.usefixtures("db")
def test_it_observes_until_it_is_told_to_stop(api: KubeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    row = cluster_of(api.kubeconfig())
    monkeypatch.setattr(observer, "RENEW_SECONDS", 0.2)
    told_at: list[float] = []

    def hold(me: str, *, alive: Collection[int], now: datetime) -> set[int]:
        if row.pk in alive and not told_at:
            told_at.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGTERM)
        return held(me, alive=alive, now=now)

    held = pod_rows.hold
    monkeypatch.setattr(pod_rows, "hold", hold)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        call_command("observe")
    finally:
        for number, known in before.items():
            signal.signal(number, known)
    assert time.monotonic() - told_at[0] < 5
    row.refresh_from_db()
    assert row.observed_at is not None
    assert row.observer == ""
