"""Why a pod does not run, in the cluster's own words. States of objects are read first, then events."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from agents.cause import Cause
from agents.clusters import objects
from agents.clusters.api import names
from agents.clusters.objects import Json, condition, event_words, has_ended, is_deleted, moment, statuses

# Something that ended longer ago does not explain the present state.
LATELY = timedelta(minutes=10)
RESTARTS_OF_A_LOOP = 5


def _named(cause: Cause, *reasons: str) -> dict[str, Cause]:
    return dict.fromkeys(reasons, cause)


_WAITING = {
    **_named(Cause.IMAGE_PULL, "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"),
    **_named(Cause.IMAGE_PULL, "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"),
    **_named(Cause.CONFIG, "CreateContainerConfigError"),
    **_named(Cause.BOOT, "RunContainerError", "CreateContainerError", "PreCreateHookError", "StartError"),
}
_PERMANENT = {"InvalidImageName"}
_ENDED_BY = {**_named(Cause.OOM, "OOMKilled"), **_named(Cause.BOOT, "StartError", "ContainerCannotRun")}
# The reason of a pod, or of its condition `DisruptionTarget`.
_FORMER = {
    **_named(
        Cause.EVICTED, "Evicted", "Preempting", "TerminationByKubelet", "EvictionByEvictionAPI", "PreemptionByScheduler"
    ),
    **_named(Cause.NODE_LOST, "NodeLost", "NodeShutdown", "Shutdown", "Terminated", "DeletionByTaintManager"),
    **_named(Cause.NO_CAPACITY, "OutOfcpu", "OutOfmemory", "OutOfpods", "OutOfephemeral-storage", "NodeAffinity"),
    **_named(Cause.NO_CAPACITY, "UnexpectedAdmissionError"),
}
_FORMER_EVENTS = {**_named(Cause.EVICTED, "Evicted", "Preempted"), **_named(Cause.NODE_LOST, "TaintManagerEviction")}
# Before any container of a pod has run, the latest event of these two groups decides.
_EVENTS = {
    **_named(
        Cause.VOLUME, "FailedMount", "FailedAttachVolume", "FailedMapVolume", "ProvisioningFailed", "FailedBinding"
    ),
    **_named(Cause.BOOT, "FailedCreatePodSandBox"),
    **_named(Cause.NO_CAPACITY, "FailedScheduling"),
}
_OVERCOME = {"Scheduled", "SuccessfulAttachVolume", "ProvisioningSucceeded", "Pulling", "Pulled", "Created", "Started"}
_REFUSALS = {
    "exceeded quota": Cause.QUOTA,
    "violates PodSecurity": Cause.ADMISSION,
    "forbidden": Cause.ADMISSION,
    "webhook": Cause.ADMISSION,
}
_ABOUT_VOLUMES = re.compile(r"(?i)persistentvolume")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """`final`: waiting cannot help."""

    cause: Cause
    message: str
    evidence: tuple[str, ...] = ()
    since: datetime | None = None
    final: bool = False


_OUTDATED = Trouble(
    cause=Cause.GATEWAY_OUTDATED,
    message="the pod was started by a release whose gateways have no certificate, and is being replaced",
)


def of_pod(pod: Json, events: Sequence[Json], *, now: datetime) -> Trouble | None:
    """Why a pod is not ready although it should be."""
    if is_lost(pod):
        return _lost(pod)
    found = _unscheduled(pod) or _first(_of_container(one, now=now) for one in statuses(pod))
    if found is None and not objects.has_begun(pod):
        return _of_events(pod, events)
    return found or (None if objects.has_certificate(pod) else _OUTDATED)


def of_deployment(deployment: Json, events: Sequence[Json], *, now: datetime) -> Trouble | None:
    """Why the cluster refuses to make the pod. Only the deployment says this, or only an event."""
    failed = condition(deployment, "ReplicaFailure")
    if failed.get("status") == "True":
        said = str(failed.get("message") or failed.get("reason"))
        return _refusal(said, reason=str(failed.get("reason")), since=moment(failed.get("lastTransitionTime")))
    event = _latest(events, {"FailedCreate"})
    at = moment(objects.event_time(event)) if event else None
    if event is None or (at and now - at > LATELY):
        return None
    return _refusal(str(event.get("message")), reason="FailedCreate", since=None)


def of_former(pods: Sequence[Json], events: Sequence[Json], *, now: datetime) -> Trouble | None:
    """Why the pod before this one went away, if that was recently."""
    former = sorted((pod for pod in pods if _went_lately(pod, now)), key=objects.born, reverse=True)
    return _first(_of_former(pod, events) for pod in former)


def of_ready(pod: Json, *, now: datetime) -> Trouble | None:
    """The trouble of a pod that is ready again: the kernel ended its engine for lack of memory, which will happen
    again."""
    ended = (objects.status_of(pod, names.ENGINE).get("lastState") or {}).get("terminated") or {}
    at = moment(ended.get("finishedAt"))
    if ended.get("reason") != "OOMKilled" or at is None or now - at > LATELY:
        return None
    said = _end(names.ENGINE, ended)
    return Trouble(cause=Cause.OOM, message=said, evidence=(said,), since=at)


def is_unexplained(pods: Sequence[Json], events: Sequence[Json], *, now: datetime) -> bool:
    """Whether a pod ended recently and nothing says why."""
    ended = [pod for pod in pods if has_ended(pod) and _went_lately(pod, now)]
    return any(_of_former(pod, events) is None for pod in ended)


# Nodes and the scheduler.


def is_lost(pod: Json) -> bool:
    """Whether the pod's node is silent. Then the cluster says that the pod is not ready, while its containers still say
    ready."""
    if pod["status"].get("phase") == "Unknown":
        return True
    containers = pod["status"].get("containerStatuses") or ()
    is_denied = condition(pod, "Ready").get("status") in {"False", "Unknown"}
    return is_denied and bool(containers) and all(one.get("ready") for one in containers)


def _lost(pod: Json) -> Trouble:
    said = condition(pod, "Ready")
    message = str(said.get("message") or pod["status"].get("message") or "the pod's node does not answer")
    evidence = (f"pod {pod['metadata']['name']}: Ready is {said.get('status', 'Unknown')}", message)
    return Trouble(cause=Cause.NODE_LOST, message=message, evidence=evidence)


def _unscheduled(pod: Json) -> Trouble | None:
    found = condition(pod, "PodScheduled")
    if found.get("status") != "False" or found.get("reason") == "SchedulingGated":
        return None
    said = str(found.get("message") or found.get("reason"))
    since = moment(found.get("lastTransitionTime"))
    return Trouble(cause=_of_scheduler(said), message=said, evidence=(f"{found.get('reason')}: {said}",), since=since)


def _of_scheduler(said: str) -> Cause:
    return Cause.VOLUME if _ABOUT_VOLUMES.search(said) else Cause.NO_CAPACITY


# Containers.


def _of_container(status: Json, *, now: datetime) -> Trouble | None:
    if status.get("ready"):
        return None
    state = status.get("state") or {}
    waiting, ended = state.get("waiting") or {}, _ended(status)
    reason, restarts = str(waiting.get("reason")), int(status.get("restartCount") or 0)
    evidence = _told(str(status.get("name")), waiting, ended)
    if cause := _WAITING.get(reason):
        message = str(waiting.get("message") or reason)
        return Trouble(cause=cause, message=message, evidence=evidence, final=reason in _PERMANENT)
    if reason != "CrashLoopBackOff" and not _failed_lately(ended, restarts, now):
        return None
    cause = _ENDED_BY.get(str(ended.get("reason")), Cause.CRASH_LOOP)
    return Trouble(cause=cause, message=evidence[-1], evidence=evidence, final=restarts >= RESTARTS_OF_A_LOOP)


def _ended(status: Json) -> Json:
    """The last end of the container; {} if it never ended."""
    ends = [(status.get(state) or {}).get("terminated") for state in ("state", "lastState")]
    return next((end for end in ends if end), {})


def _failed_lately(ended: Json, restarts: int, now: datetime) -> bool:
    """Whether the container failed recently. A single exit is not a crash loop, except for reasons that should never
    occur."""
    is_odd = ended.get("reason") in _ENDED_BY
    if not is_odd and (not ended.get("exitCode") or restarts == 0):
        return False
    at = moment(ended.get("finishedAt"))
    return at is None or now - at <= LATELY


def _told(name: str, waiting: Json, ended: Json) -> tuple[str, ...]:
    """What the cluster says of a container, as lines. Its last end comes last."""
    told = []
    if waiting:
        told.append(f"{name}: " + ": ".join(str(waiting[one]) for one in ("reason", "message") if waiting.get(one)))
    if ended:
        told.append(_end(name, ended))
    return tuple(told)


def _end(name: str, ended: Json) -> str:
    said = f": {ended['message']}" if ended.get("message") else ""
    return f"{name}: ended with exit code {ended.get('exitCode')} ({ended.get('reason') or 'no reason given'}){said}"


# Pods that went away, and pods that were refused.


def _went_lately(pod: Json, now: datetime) -> bool:
    if not has_ended(pod) and not is_deleted(pod):
        return False
    ends = [_ended(status).get("finishedAt") for status in statuses(pod)]
    changes = [one.get("lastTransitionTime") for one in pod["status"].get("conditions") or ()]
    known = [at for text in (*ends, *changes, pod["metadata"].get("deletionTimestamp")) if (at := moment(text))]
    at = max(known, default=None) or moment(objects.born(pod))
    return at is None or now - at <= LATELY


def _of_former(pod: Json, events: Sequence[Json]) -> Trouble | None:
    status, name = pod["status"], pod["metadata"]["name"]
    target = condition(pod, "DisruptionTarget")
    for said in (status, target if target.get("status") == "True" else {}):
        if cause := _FORMER.get(str(said.get("reason"))):
            message = str(said.get("message") or said["reason"])
            return Trouble(cause=cause, message=message, evidence=(f"pod {name}: {said['reason']}: {message}",))
    event = _latest([one for one in events if one["involvedObject"].get("name") == name], _FORMER_EVENTS)
    if event is None:
        return None
    cause = _FORMER_EVENTS[event["reason"]]
    return Trouble(cause=cause, message=str(event.get("message")), evidence=(event_words(event),))


def _refusal(said: str, *, reason: str, since: datetime | None) -> Trouble:
    cause = next((cause for text, cause in _REFUSALS.items() if text in said), Cause.BOOT)
    final = "violates PodSecurity" in said
    return Trouble(cause=cause, message=said, evidence=(f"{reason}: {said}",), since=since, final=final)


def _of_events(pod: Json, events: Sequence[Json]) -> Trouble | None:
    """What holds up a pod of which no container has begun."""
    event = _latest([one for one in events if objects.is_about(one, [pod])], {*_EVENTS, *_OVERCOME})
    cause = _EVENTS.get(str(event.get("reason"))) if event else None
    if event is None or cause is None:
        return None
    said = str(event.get("message") or event["reason"])
    cause = _of_scheduler(said) if cause == Cause.NO_CAPACITY else cause
    return Trouble(cause=cause, message=said, evidence=(event_words(event),))


def _latest(events: Iterable[Json], reasons: Iterable[str]) -> Json | None:
    wanted = set(reasons)
    return max((one for one in events if one.get("reason") in wanted), key=objects.event_time, default=None)


def _first(found: Iterator[Trouble | None]) -> Trouble | None:
    return next((trouble for trouble in found if trouble), None)
