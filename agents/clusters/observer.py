"""The observer: watches every cluster whose lease it holds, and writes what it sees into the rows of pods.

Each kind of object in a cluster is watched by a thread of its own, and a few threads ask gateways. Only the caller's
thread uses the database: it writes all changes in one statement, a moment after they happen. The observer changes
nothing in any cluster.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import Error as DatabaseError
from django.utils import timezone

from agents.clusters import connections, pod_rows
from agents.clusters.api.client import Connection
from agents.clusters.cluster_cache import ClusterCache
from agents.clusters.models import Cluster
from agents.clusters.pod_rows import LeaseLost
from agents.clusters.probes import CallPool, Wanted, of_agents
from config import pulse, waiting

log = logging.getLogger(__name__)

# Changes within this time are written together.
GATHER_SECONDS = 0.1
TICK_SECONDS = 1.0
RENEW_SECONDS = 5.0
# The driver makes a pod's row before its namespace, so a young row may have no namespace yet.
YOUNG = timedelta(seconds=60)
STALE = timedelta(seconds=90)


def stale(now: datetime) -> list[str]:
    """A line for each cluster whose watches had no sign of life for too long."""
    seen = Cluster.objects.order_by("name").values_list("name", "observed_at")
    return [
        f"cluster {name} was " + (f"last observed {(now - at).total_seconds():.0f} s ago" if at else "never observed")
        for name, at in seen
        if at is None or now - at > STALE
    ]


class Observer:
    """Call `run` to observe until told to stop. `wanted` gives the wanted revisions of pods and the access to their
    gateways."""

    def __init__(
        self,
        *,
        wanted: Wanted = of_agents,
        connect: Callable[[Cluster], Connection] = connections.of,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = f"observer-{secrets.token_hex(8)}"
        self._wanted, self._connect, self._clock = wanted, connect, clock
        self._woken = threading.Event()
        self._caches: dict[int, ClusterCache] = {}
        self._renew_at = 0.0

    def run(self, stop: threading.Event) -> None:
        try:
            while not stop.is_set():
                self._woken.wait(TICK_SECONDS)
                stop.wait(GATHER_SECONDS)
                self._woken.clear()
                self.turn()
        finally:
            self.close()

    def turn(self) -> None:
        """Renew the lease if it is time, and write what has changed. Something that fails now is done at the next
        turn."""
        self._renew()
        for pk, cache in list(self._caches.items()):
            if pk in self._caches:  # else its lease went to another observer a moment ago
                self._record(cache)
                self._renew()  # many new pods take long
        waiting.release_connection()

    def _renew(self) -> None:
        """Give a sign of life, and renew the lease if it is time."""
        pulse.beat()
        try:
            if self._clock() >= self._renew_at:
                self._hold(timezone.now())
        except DatabaseError as error:
            log.warning("the lease could not be renewed", extra={"error": str(error)})

    def _record(self, cache: ClusterCache) -> None:
        cache.is_written = False
        try:
            self._write(cache, timezone.now())
            cache.is_written = True
        except LeaseLost:
            log.warning("the lease ended before the pods were recorded", extra={"cluster": cache.name})
            self._renew_at = 0.0
        except Exception:
            log.exception("the pods of a cluster could not be recorded", extra={"cluster": cache.name})

    def close(self) -> None:
        """Stop observing and give the lease back, so that another observer can take over at once."""
        for cache in self._caches.values():
            cache.close()
        self._caches.clear()
        try:
            pod_rows.give_back(self.name)
        except DatabaseError as error:
            log.warning("the lease could not be given back", extra={"error": str(error)})
        waiting.release_connection()

    # The lease.

    def _hold(self, now: datetime) -> None:
        alive = [pk for pk, cache in self._caches.items() if cache.is_written and cache.is_alive()]
        held = pod_rows.hold(self.name, alive=alive, now=now)
        self._renew_at = self._clock() + RENEW_SECONDS
        for pk in self._caches.keys() - held:
            log.warning("a cluster is observed by another observer", extra={"cluster": self._caches[pk].name})
            self._caches.pop(pk).close()
        for cluster in Cluster.objects.filter(pk__in=held):
            try:
                self._look_out(cluster)
            except Exception:
                log.exception("a cluster cannot be observed", extra={"cluster": cluster.name})

    def _look_out(self, cluster: Cluster) -> None:
        """Watch the cluster with its present credentials and routing."""
        connection, known = self._connect(cluster), self._caches.get(cluster.pk)
        if known and known.connection is connection and known.routes == connections.place(cluster).routes:
            return
        if known:
            known.close()
        log.info("a cluster is observed", extra={"cluster": cluster.name, "observer": self.name})
        before = pod_rows.known(cluster.pk)
        cache = ClusterCache(cluster, connection, CallPool(), before=before, changed=self._woken.set, clock=self._clock)
        self._caches[cluster.pk] = cache
        cache.start()

    # The rows.

    def _write(self, cache: ClusterCache, now: datetime) -> None:
        if not cache.is_complete():
            return
        with cache.changes(now) as found:
            agents = pod_rows.write(cache.cluster_id, found, me=self.name, now=now) if found else set()
        pod_rows.make_due(agents | self._forget(cache, now), now=now)
        cache.ask(self._wanted(cache.cluster_id))

    def _forget(self, cache: ClusterCache, now: datetime) -> set[str]:
        """Remove the rows of namespaces that are gone. Some were seen to end. Others are missing in the cache, and the
        API server confirmed that they do not exist."""
        if cache.is_sweep_due():
            cache.confirm(pod_rows.made_before(cache.cluster_id, now - YOUNG))
        agents: set[str] = set()
        with cache.gone() as (ended, missing):
            for namespaces, made_before in ((ended, now), (missing, now - YOUNG)):
                if namespaces:
                    agents |= pod_rows.forget(cache.cluster_id, namespaces, me=self.name, made_before=made_before)
        return agents
