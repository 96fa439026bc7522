"""One cluster as the observer sees it: its watches, the answers of gateways, and the changes that are not written
yet."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

from django.conf import settings

from agents.clusters import connections, objects, reading
from agents.clusters.api import names
from agents.clusters.api.client import Connection
from agents.clusters.models import Cluster
from agents.clusters.objects import Json
from agents.clusters.probes import CallPool, Probes, Want
from agents.clusters.protected import Guards
from agents.clusters.reading import Life, PodRow, PodState
from agents.clusters.watching import DEPLOYMENTS, LIST_SECONDS, NAMESPACES, PODS, Watch, WatchedKind
from agents.runtimes.base import Phase, RuntimeFailure

log = logging.getLogger(__name__)

SWEEP_SECONDS = 30.0
# Unhealthy pods are read again even without news: old causes no longer count, and events are read for problems that
# last.
REREAD_SECONDS = 1.0

_CAME_UP = (Phase.READY, Phase.UNHEALTHY)


class ClusterCache:
    """`before` is what the rows of the cluster's pods say. `changed` is called when there is something to write."""

    def __init__(
        self,
        cluster: Cluster,
        connection: Connection,
        pool: CallPool,
        *,
        before: Mapping[str, PodRow],
        changed: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cluster_id, self.name, self.connection = cluster.pk, cluster.name, connection
        self.is_written = True
        self._written = dict(before)
        self._pool, self._tell, self._clock = pool, changed, clock
        self._asking = Probes(pool, connection, lambda namespace: self._news({namespace}), clock=clock)
        self._lock = threading.Lock()
        self._dirty: set[str] = set()
        self._ended: set[str] = set()
        self._missing: set[str] = set()
        self._strays: dict[str, Json] = {}  # namespaces that exist without our labels
        self._unwell: set[str] = set()  # read again even without news
        self._puzzling: set[str] = set()  # their events are read
        self._sweep_at = self._reread_at = 0.0
        self._stop, self._has_begun = threading.Event(), threading.Event()
        self._namespaces = self._watch(NAMESPACES)
        self._deployments, self._pods = self._watch(DEPLOYMENTS), self._watch(PODS)
        self._watches = (self._namespaces, self._deployments, self._pods)
        self.routes = connections.place(cluster).routes
        self._guards = Guards(self.routes, self._watch)

    def start(self) -> None:
        for watch in (*self._watches, *self._guards.watches.values()):
            threading.Thread(target=self._run, args=(watch,), name=f"watch-{self.name}", daemon=True).start()

    def close(self) -> None:
        """Stop. The threads end with their streams, and nothing more is written."""
        self._stop.set()
        self._has_begun.set()
        self._pool.close()

    def is_complete(self) -> bool:
        return all(watch.is_complete for watch in self._watches)

    def is_alive(self) -> bool:
        return all(watch.is_alive() for watch in self._watches)

    # Changes to write.

    @contextmanager
    def changes(self, now: datetime) -> Iterator[list[PodRow]]:
        """The sightings that differ from the rows. The caller writes them inside this context. If it raises, they come
        again."""
        dirty = self._take_dirty()
        found = [row for namespace in sorted(dirty) if (row := self._read(namespace, now))]
        changed = [row for row in found if row != self._written.get(row.namespace)]
        try:
            yield changed
        except BaseException:
            self._news(dirty)
            raise
        self._written.update((row.namespace, row) for row in changed)

    @contextmanager
    def gone(self) -> Iterator[tuple[set[str], set[str]]]:
        """The namespaces that were seen to end, and the missing ones. The caller removes their rows inside this
        context."""
        with self._lock:
            self._ended |= self._namespaces.take_gone()
            ended, missing = set(self._ended), self._missing - self._namespaces.namespaces()
        yield ended, missing
        with self._lock:
            self._ended -= ended
            self._missing = set()
        for namespace in ended | missing:
            self._written.pop(namespace, None)

    def is_sweep_due(self) -> bool:
        if self._clock() < self._sweep_at:
            return False
        self._sweep_at = self._clock() + SWEEP_SECONDS
        return True

    def confirm(self, known: Collection[str]) -> None:
        """Ask the API server which of these namespaces it does not have either. A namespace missing in our cache may
        still exist."""
        if doubtful := {*known, *self._written} - self._namespaces.namespaces():
            self._pool.submit(lambda: self._confirm(doubtful))

    # Questions to gateways and to the API server.

    def ask(self, wanted: Mapping[str, Want]) -> None:
        wants = {
            namespace: (life, want)
            for namespace, want in wanted.items()
            if (row := self._written.get(namespace)) and (life := _asked_in(row, want))
        }
        self._asking.ask_gateways(wants)
        self._asking.ask_events(self._puzzling)

    def _confirm(self, doubtful: set[str]) -> None:
        """Look through all namespaces, because one that only lost its label still has its agent's pod."""
        try:
            body = self.connection.get(NAMESPACES.path, seconds=LIST_SECONDS)
        except RuntimeFailure as failure:
            log.warning(
                "missing namespaces could not be confirmed", extra={"cluster": self.name, "error": str(failure)}
            )
            return
        if body.get("kind") != NAMESPACES.list_kind:
            return
        here = {name: one for one in body["items"] if (name := one["metadata"]["name"]) in doubtful}
        with self._lock:
            self._missing |= doubtful - here.keys()
            self._strays = {name: NAMESPACES.keep(one) for name, one in here.items()}
        self._news(set(here))

    # Reading the state of pods.

    def _read(self, namespace: str, now: datetime) -> PodRow | None:
        found = next(iter(self._namespaces.of(namespace)), None) or self._stray(namespace)
        self._puzzling.discard(namespace)
        self._unwell.discard(namespace)
        if found is None or not objects.agent_of(found):
            if namespace in self._written:
                self._sweep_at = 0.0
            return None
        seen = self._seen(namespace, found)
        row = reading.read(seen, now=now)
        if reading.wants_events(seen, row, now=now):
            self._puzzling.add(namespace)
        if row.cause or row.phase not in {Phase.READY, Phase.STOPPED}:
            self._unwell.add(namespace)
        return row

    def _stray(self, namespace: str) -> Json | None:
        """A namespace without our labels, as last read, with the label of the agent that its row names."""
        found, before = self._strays.get(namespace), self._written.get(namespace)
        if found is None or before is None:
            return None
        labels = {names.AGENT_LABEL: before.agent_id}
        return {**found, "metadata": {**found["metadata"], "labels": labels}}

    def _seen(self, namespace: str, found: Json) -> PodState:
        pods, before = self._pods.of(namespace), self._written.get(namespace)
        deployments = self._deployments.of(namespace)
        life = reading.life_of(objects.current(pods))
        health = self._asking.health(namespace, life) if life else None
        revision = reading.applied(health) if health else None
        bridge_bytes = health.bridge_bytes if health else None
        if before and life and before.life == life:
            revision = before.revision if revision is None else revision
            bridge_bytes = before.bridge_bytes if bridge_bytes is None else bridge_bytes
        return PodState(
            namespace=found,
            deployment=next((one for one in deployments if one["metadata"]["name"] == names.POD), None),
            pods=pods,
            events=self._asking.events(namespace),
            health=health,
            revision=revision,
            bridge_bytes=bridge_bytes,
            digests=self._digests(namespace, found, deployments),
            secrets=self._secrets(namespace),
            was_ready=bool(before and life and before.pod_ip == life[0] and before.phase in _CAME_UP),
        )

    def _digests(self, namespace: str, found: Json, deployments: Iterable[Json]) -> Mapping[str, str] | None:
        """Digests of all objects that must stay. Until all of them are known, the digests of the row."""
        written = self._written.get(namespace)
        before = written.seen if written else None
        guarded = self._guards.digests(namespace, before=before or {})
        if guarded is None:
            return before
        workloads = {f"Deployment/{one['metadata']['name']}": one["digest"] for one in deployments}
        return {"Namespace": found["digest"], **workloads, **guarded}

    def _secrets(self, namespace: str) -> Mapping[str, str] | None:
        found, before = self._guards.secrets(namespace), self._written.get(namespace)
        return before.secrets_seen if found is None and before else found

    # Watches, and the namespaces that have changed.

    def _watch(self, kind: WatchedKind) -> Watch:
        return Watch(self.connection, kind, selector=selector(), changed=self._news, clock=self._clock)

    def _run(self, watch: Watch) -> None:
        """Run a watch. All other watches wait for the first one, so only one thread asks a cluster that refuses us."""
        if watch is not self._namespaces:
            self._has_begun.wait()
        watch.run(self._stop)

    def _news(self, namespaces: set[str]) -> None:
        self._has_begun.set()
        with self._lock:
            self._dirty |= namespaces
        self._tell()

    def _take_dirty(self) -> set[str]:
        with self._lock:
            dirty, self._dirty = self._dirty, set()
        if self._clock() >= self._reread_at:
            self._reread_at = self._clock() + REREAD_SECONDS
            dirty |= self._unwell
        return dirty


def selector() -> str:
    """The label selector of all objects of our agents, and of no others."""
    ours = {names.MANAGED_BY_LABEL: names.MANAGED_BY, names.INSTALLATION_LABEL: settings.INSTALLATION}
    return ",".join([*(f"{label}={value}" for label, value in ours.items()), names.AGENT_LABEL])


def _asked_in(row: PodRow, want: Want) -> Life | None:
    """The pod's present life, if its gateway should be asked; else None."""
    is_behind = row.revision is None or row.revision < want.revision
    return row.life if row.gateway_alive and (is_behind or row.phase != Phase.READY) else None
