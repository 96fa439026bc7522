"""Asks gateways and the API server's events for what no watch shows, only where something is wrong or awaited.

Threads of their own ask, so that a call that hangs holds up nothing else. None of them uses the database.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial

from agents.clusters import objects
from agents.clusters.api import names
from agents.clusters.objects import Json
from agents.clusters.reading import Life
from agents.clusters.watching import WatchSource
from agents.models import Agent
from agents.runtimes import management
from agents.runtimes.base import Access, Endpoint, RuntimeFailure
from agents.runtimes.management import GatewayHealth
from config import sql

log = logging.getLogger(__name__)

THREADS = 8
HEALTH_SECONDS = 3.0
EVENTS_SECONDS = 5.0
PACE_SECONDS = 1.0
# The pace for a pod that has given the same answer this many times in a row.
SLOW_PACE_SECONDS, SLOW_AFTER = 5.0, 30
LONGEST_PAUSE_SECONDS = 15.0
EVENTS_PAUSE_SECONDS = 10.0
MOST_EVENTS = 250

_BEHIND = """
SELECT p.namespace, a.id, a.spec_revision, a.gateway_certificate
FROM agents_pod p JOIN agents_agent a ON a.id = p.agent_id
WHERE p.cluster_id = %s AND p.gateway_alive AND p.namespace = 'pod-' || a.suffix || '-' || a.generation
    AND a.desired = 'running' AND (p.revision IS NULL OR p.revision < a.spec_revision OR p.phase <> 'ready')
"""


@dataclass(frozen=True, slots=True)
class Want:
    revision: int
    access: Access


# For the pods of a cluster, by namespace: what the agent's row wants. Pods that are healthy and up to date may be
# missing.
Wanted = Callable[[int], Mapping[str, Want]]


def of_agents(cluster_id: int) -> dict[str, Want]:
    """The wanted state of pods that are not healthy or not up to date, read from the agents' rows."""
    behind = sql.rows(_BEHIND, [cluster_id])
    if not behind:
        return {}
    agents = Agent.objects.filter(pk__in=[agent_id for _, agent_id, *_ in behind])
    tokens = dict(agents.values_list("pk", "management_token"))
    # A token that cannot be decrypted is not a string; its pod is left out.
    return {
        namespace: Want(revision, Access(token=tokens[agent_id], certificate=certificate))
        for namespace, agent_id, revision, certificate in behind
        if isinstance(tokens.get(agent_id), str)
    }


class CallPool:
    """Threads for calls that wait. Each cluster has its own pool, because all calls to a silent cluster may be
    waiting."""

    def __init__(self, threads: int = THREADS) -> None:
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._count = threads
        for _ in range(threads):
            threading.Thread(target=self._run, name="observer-asks", daemon=True).start()

    def submit(self, work: Callable[[], None]) -> None:
        self._work.put(work)

    def close(self) -> None:
        for _ in range(self._count):
            self._work.put(None)

    def _run(self) -> None:
        while work := self._work.get():
            try:
                work()
            except Exception:
                log.exception("a query to a pod or cluster failed")


@dataclass(slots=True)
class Turn:
    """The turn of one namespace. When `about` changes, the next call is due at once and the waits are short again."""

    about: object
    due_at: float = 0.0
    is_busy: bool = False
    failures: int = 0
    repeats: int = 0

    def pause(self) -> float:
        if self.failures:
            return min(LONGEST_PAUSE_SECONDS, 2.0 ** min(self.failures, 10))
        return SLOW_PACE_SECONDS if self.repeats >= SLOW_AFTER else PACE_SECONDS


class ProbeSchedule:
    """Decides whose turn it is. Each namespace is asked by one thread at a time, and then not again for a while."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._turns: dict[str, Turn] = {}
        self._lock = threading.Lock()

    def begin(self, asked: Mapping[str, object]) -> list[str]:
        """The names of those that are to be asked now. All names that are not in `asked` are forgotten."""
        with self._lock:
            self._turns = {name: turn for name, turn in self._turns.items() if name in asked or turn.is_busy}
            return [name for name, about in asked.items() if self._begins(name, about)]

    def end(self, namespace: str, *, failed: bool = False, same: bool = False, pause: float | None = None) -> None:
        with self._lock:
            turn = self._turns[namespace]
            turn.is_busy = False
            turn.failures = turn.failures + 1 if failed else 0
            turn.repeats = turn.repeats + 1 if same else 0
            turn.due_at = self._clock() + (turn.pause() if pause is None else pause)

    def _begins(self, name: str, about: object) -> bool:
        turn = self._turns.setdefault(name, Turn(about))
        if turn.is_busy:
            return False
        if turn.about != about:
            turn = self._turns[name] = Turn(about)
        if self._clock() < turn.due_at:
            return False
        turn.is_busy = True
        return True


class Probes:
    """Asks about the pods of one cluster. Calls `heard` with a namespace when its answer has changed."""

    def __init__(
        self,
        pool: CallPool,
        source: WatchSource,
        heard: Callable[[str], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pool, self._source, self._heard = pool, source, heard
        self._gateways, self._troubled = ProbeSchedule(clock), ProbeSchedule(clock)
        self._healths: dict[str, tuple[Life, GatewayHealth]] = {}
        self._events: dict[str, list[Json]] = {}

    def health(self, namespace: str, life: Life | None) -> GatewayHealth | None:
        """The last answer of this pod's gateway. None if it was of another life of the pod, or if the gateway no longer
        answers."""
        asked_in, health = self._healths.get(namespace, (None, None))
        return health if asked_in == life else None

    def events(self, namespace: str) -> list[Json]:
        return self._events.get(namespace, [])

    def ask_gateways(self, wants: Mapping[str, tuple[Life, Want]]) -> None:
        """Ask each of these gateways that is due. Answers of all others are forgotten."""
        for namespace in self._gateways.begin(wants):
            self._pool.submit(partial(self._ask_gateway, namespace, *wants[namespace]))
        for namespace in set(self._healths) - set(wants):
            self._healths.pop(namespace, None)

    def ask_events(self, namespaces: Collection[str]) -> None:
        """Read the events of each of these namespaces that is due. Events of all others are forgotten."""
        for namespace in self._troubled.begin(dict.fromkeys(namespaces)):
            self._pool.submit(partial(self._ask_events, namespace))
        for namespace in set(self._events) - set(namespaces):
            self._events.pop(namespace, None)

    def _ask_gateway(self, namespace: str, life: Life, want: Want) -> None:
        before, said = self._healths.get(namespace), None
        try:
            said = management.health(endpoint(life[0]), want.access, seconds=HEALTH_SECONDS)
            self._healths[namespace] = (life, said)
        except Exception as failure:  # noqa: BLE001 # a pod may answer anything
            log.info("a gateway gave no health report", extra={"namespace": namespace, "error": str(failure)})
            self._healths.pop(namespace, None)
        same = before == ((life, said) if said else None)
        self._gateways.end(namespace, failed=said is None, same=same)
        if not same:
            self._heard(namespace)

    def _ask_events(self, namespace: str) -> None:
        before = self._events.get(namespace)
        try:
            path = f"/api/v1/namespaces/{namespace}/events"
            body = self._source.get(path, {"limit": str(MOST_EVENTS)}, seconds=EVENTS_SECONDS)
            self._events[namespace] = [objects.keep_event(one) for one in body.get("items") or ()]
        except RuntimeFailure as failure:
            log.info("events could not be read", extra={"namespace": namespace, "error": str(failure)})
        finally:
            self._troubled.end(namespace, pause=EVENTS_PAUSE_SECONDS)
        if self._events.get(namespace) != before:
            self._heard(namespace)


def endpoint(address: str) -> Endpoint:
    host = f"[{address}]" if ":" in address else address
    return Endpoint(
        public_url=f"http://{host}:{names.PUBLIC_PORT}", management_url=f"https://{host}:{names.MANAGEMENT_PORT}"
    )
