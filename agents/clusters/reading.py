"""From what a cluster shows of one namespace to the state of its pod. Pure functions, so that a test can give each case
as a literal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from agents.clusters import causes, objects
from agents.clusters.api import ending, names
from agents.clusters.causes import Trouble
from agents.clusters.objects import Json, current, moment, words
from agents.runtimes.base import Phase
from agents.runtimes.management import GatewayHealth

ENDING = "the pod is ending"
# A pod that comes up normally does so within this time; its events need not be read.
PATIENCE = timedelta(seconds=5)

_CAUSE = re.compile(r"[A-Z][A-Z_]{0,19}")

Life = tuple[str, int]  # a pod's address, and how many times its containers were restarted


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRow:
    """The values that are written into a pod's row (agents.models.Pod). `going`: its namespace is ending, so no new row
    is made."""

    namespace: str
    agent_id: str
    phase: Phase
    gateway_alive: bool = False
    revision: int | None = None
    restarts: int = 0
    cause: str | None = None
    message: str | None = None
    evidence: tuple[str, ...] = ()
    since: datetime | None = None
    pod_ip: str | None = None
    going: bool = False
    seen: Mapping[str, str] | None = None  # digests of the objects that exist; None: not known
    secrets_seen: Mapping[str, str] | None = None  # uids of the Secrets that exist; None: not known
    bridge_bytes: int | None = None

    @property
    def life(self) -> Life | None:
        return (self.pod_ip, self.restarts) if self.pod_ip else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PodState:
    """All that is known of one namespace. Health, revision, bridge_bytes and `was_ready` belong to the pod's present
    life."""

    namespace: Json
    deployment: Json | None = None
    pods: Sequence[Json] = ()
    events: Sequence[Json] = ()
    health: GatewayHealth | None = None
    revision: int | None = None
    bridge_bytes: int | None = None
    was_ready: bool = False
    digests: Mapping[str, str] | None = None
    secrets: Mapping[str, str] | None = None


def read(seen: PodState, *, now: datetime) -> PodRow:
    """The present state of this pod."""
    told = PodRow(
        namespace=seen.namespace["metadata"]["name"],
        agent_id=objects.agent_of(seen.namespace),
        phase=Phase.STARTING,
        seen=seen.digests,
        secrets_seen=seen.secrets,
        bridge_bytes=seen.bridge_bytes,
    )
    if objects.is_deleted(seen.namespace):
        return replace(told, phase=Phase.STOPPED, message=words(ending.blockers(seen.namespace)), going=True)
    if seen.deployment is None:  # a worker is deploying it, or was killed: deploying goes on
        return replace(told, phase=Phase.STOPPED)
    if not _is_wanted(seen.deployment):
        return _ending(told) if _lives(seen.pods) else replace(told, phase=Phase.STOPPED)
    pod = current(seen.pods)
    return _without_pod(seen, seen.deployment, told, now) if pod is None else _with_pod(seen, pod, told, now)


def life_of(pod: Json | None) -> Life | None:
    address = pod["status"].get("podIP") if pod else None
    return (address, objects.restarts(pod)) if pod and address else None


def applied(health: GatewayHealth) -> int | None:
    """The revision that both gateway and engine run; None while the engine is not ready on any."""
    state = _state(health)
    gateways, engines = _revision(health.revision), _revision(state.get("revision"))
    if gateways is None or engines is None or state.get("phase") != Phase.READY:
        return None
    return min(gateways, engines)


def wants_events(seen: PodState, row: PodRow, *, now: datetime) -> bool:
    """Whether the namespace's events may explain what its objects do not."""
    if seen.deployment is None or not _is_wanted(seen.deployment) or row.going:
        return False
    if causes.is_unexplained(seen.pods, seen.events, now=now):
        return True
    pod = current(seen.pods)
    if row.phase == Phase.READY or (pod and objects.is_running(pod, names.ENGINE)):
        return False  # then the bridge knows the cause
    waits_since = moment(objects.born(pod or seen.deployment)) or now
    return row.cause is not None or now - waits_since > PATIENCE


def _is_wanted(deployment: Json) -> bool:
    return bool(deployment["spec"].get("replicas", 1))


def _lives(pods: Sequence[Json]) -> bool:
    return any(not objects.has_ended(pod) for pod in pods)


def _ending(told: PodRow) -> PodRow:
    return replace(told, phase=Phase.UNHEALTHY, message=ENDING)


def _without_pod(seen: PodState, deployment: Json, told: PodRow, now: datetime) -> PodRow:
    """The state while there is no pod: it has not started yet, the cluster refuses it, or one pod follows another."""
    refused, former = causes.of_deployment(deployment, seen.events, now=now), _former(seen, now)
    return _troubled(_ending(told) if _lives(seen.pods) else told, refused or former, seen, former=former)


def _with_pod(seen: PodState, pod: Json, told: PodRow, now: datetime) -> PodRow:
    lost, former = causes.is_lost(pod), _former(seen, now)
    told = replace(
        told,
        phase=Phase.UNHEALTHY if seen.was_ready else Phase.STARTING,
        gateway_alive=objects.is_ready(pod, names.GATEWAY) and objects.has_certificate(pod) and not lost,
        revision=seen.revision,
        restarts=objects.restarts(pod),
        since=moment(objects.condition(pod, "Ready").get("lastTransitionTime")) or moment(objects.born(pod)),
        pod_ip=pod["status"].get("podIP"),
    )
    if objects.is_ready(pod, names.ENGINE) and not lost:
        told = replace(told, phase=Phase.READY)
        trouble = causes.of_ready(pod, now=now) if told.gateway_alive else causes.of_pod(pod, seen.events, now=now)
        return _troubled(told, trouble or former, seen, former=former)
    told = _troubled(told, causes.of_pod(pod, seen.events, now=now) or former, seen, former=former)
    knows = seen.health is not None and told.gateway_alive and objects.is_running(pod, names.ENGINE)
    return _by_bridge(told, _state(seen.health)) if knows else told


def _former(seen: PodState, now: datetime) -> Trouble | None:
    return causes.of_former(seen.pods, seen.events, now=now)


def _troubled(told: PodRow, trouble: Trouble | None, seen: PodState, *, former: Trouble | None = None) -> PodRow:
    """Add a trouble to the state. Why the pod before this one went away is evidence too: the trouble may have begun
    there."""
    if trouble is None:
        return told
    earlier = former.evidence if former else ()
    return replace(
        told,
        phase=Phase.FAILED if trouble.final else told.phase,
        cause=trouble.cause,
        message=words(trouble.message),
        evidence=objects.lines([*trouble.evidence, *earlier, *objects.warnings(seen.events, seen.pods)]),
        since=trouble.since or told.since,
    )


# What the bridge says. It shares a container with the engine, so nothing in its answer is assumed to be well formed.


def _state(health: GatewayHealth | None) -> Mapping[str, Any]:
    return health.engine if health and isinstance(health.engine, dict) else {}


def _by_bridge(told: PodRow, state: Mapping[str, Any]) -> PodRow:
    """Take the state from the bridge. The engine's container runs, and the bridge in it knows more than the cluster."""
    phase, cause, said = _phase(state.get("phase"), told.phase), state.get("cause"), state.get("evidence")
    if phase is None:
        return told
    told = replace(told, phase=phase, since=moment(state.get("since")) or told.since)
    if state.get("phase") == Phase.STOPPED:
        return replace(told, message=told.message or ENDING)
    if not isinstance(cause, str) or not _CAUSE.fullmatch(cause):
        return told
    evidence = objects.lines([*(said if isinstance(said, list) else ()), *told.evidence])
    return replace(told, cause=cause, message=words(str(state.get("message") or cause)), evidence=evidence)


def _phase(said: object, seen: Phase) -> Phase | None:
    """The bridge's phase, except where the cluster knows better: whether the pod was ready before, and whether it is
    ready now."""
    try:
        phase = Phase(str(said))
    except ValueError:
        return None
    if phase == Phase.STOPPED:
        return Phase.UNHEALTHY
    return seen if phase in {Phase.READY, Phase.STARTING} else phase


def _revision(value: object) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 2**31 else None
