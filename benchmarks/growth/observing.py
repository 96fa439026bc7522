"""What the observer of clusters costs: when it begins and writes every pod down, and while nothing happens."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.conf import settings
from django.db import connection
from django.utils import timezone

from agents.clusters.api import digests
from agents.clusters.observer import Observer
from agents.models import Cluster, Pod
from benchmarks import processes
from tests.doubles.quiet_cluster import QuietCluster, QuietPod

REST_SECONDS = 31.0  # one search for forgotten rows is in it
BEGIN_SECONDS = 600.0
SETTLE_SECONDS = 3.0


def measured() -> tuple[float, float]:
    """Milliseconds of CPU, of observer and PostgreSQL: until every pod is written, and for a second at rest.

    It is the observer of one of the clusters; the others are held by another one, which would cost as much for each.
    Afterwards every pod is as the driver made it.
    """
    cluster = Cluster.objects.order_by("pk")[:1].get()
    held = timezone.now() + timedelta(days=1)
    Cluster.objects.exclude(pk=cluster.pk).update(observer="another", observer_until=held)
    begun = _cpu()
    with _observer(cluster):
        _until_written(cluster)
        time.sleep(SETTLE_SECONDS)
        start = _cpu() - begun
        with connection.cursor() as cursor:
            cursor.execute("UPDATE agents_pod SET kept = seen, secrets = secrets_seen")
            cursor.execute("VACUUM (ANALYZE) agents_pod")
        begun, since = _cpu(), time.monotonic()
        time.sleep(REST_SECONDS)
        rest = (_cpu() - begun) / (time.monotonic() - since)
    return start * 1000, rest * 1000


@contextmanager
def _observer(cluster: Cluster) -> Iterator[None]:
    quiet = QuietCluster(_pods(cluster), installation=settings.INSTALLATION)
    stop = threading.Event()
    observer = Observer(connect=lambda _: quiet)  # type: ignore[arg-type, return-value] # all that the observer needs of a connection
    thread = threading.Thread(target=observer.run, args=(stop,), name="observer")
    thread.start()
    try:
        yield
    finally:
        quiet.end()
        stop.set()
        thread.join()


def _until_written(cluster: Cluster) -> None:
    deadline = time.monotonic() + BEGIN_SECONDS
    every = Pod.objects.filter(cluster=cluster)
    while unwritten := every.count() - every.filter(seen__has_key=digests.CLAIM).count():  # those are seen last
        if time.monotonic() > deadline:
            raise RuntimeError(f"the observer did not write {unwritten} pods")
        time.sleep(0.5)


def _pods(cluster: Cluster) -> list[QuietPod]:
    rows = Pod.objects.filter(cluster=cluster).values_list("namespace", "agent_id", "pod_ip")
    return [QuietPod(namespace, agent_id, str(address)) for namespace, agent_id, address in rows]


def _cpu() -> float:
    return time.process_time() + processes.postgres().cpu_seconds()
