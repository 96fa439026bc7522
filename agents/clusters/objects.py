"""Small questions about the API's objects, as raw JSON; the parts of them that are kept in memory; texts that a
database accepts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from agents.clusters.api import digests, names

Json = dict[str, Any]

STATUSES = ("initContainerStatuses", "containerStatuses")
LINES = 10
LINE_LENGTH = 500
WORDS_LENGTH = 1000


# Pods and their containers.


def current(pods: Sequence[Json]) -> Json | None:
    """The newest pod that neither has ended nor is being deleted."""
    return max((pod for pod in pods if not has_ended(pod) and not is_deleted(pod)), key=born, default=None)


def statuses(pod: Json) -> list[Json]:
    """The containers' statuses, the gateway's first, because the engine waits for it. The cluster adds init
    containers."""
    found: list[Json] = [status for group in STATUSES for status in pod["status"].get(group) or ()]
    return sorted(found, key=lambda status: status.get("name") != names.GATEWAY)


def status_of(pod: Json, container: str) -> Json:
    found = (one for one in pod["status"].get("containerStatuses") or () if one.get("name") == container)
    return next(found, {})


def is_ready(pod: Json, container: str) -> bool:
    return bool(status_of(pod, container).get("ready"))


def is_running(pod: Json, container: str) -> bool:
    return "running" in (status_of(pod, container).get("state") or {})


def restarts(pod: Json) -> int:
    return sum(int(status.get("restartCount") or 0) for status in statuses(pod))


def condition(obj: Json, type: str) -> Json:
    found = (one for one in obj.get("status", {}).get("conditions") or () if one.get("type") == type)
    return next(found, {})


def has_ended(pod: Json) -> bool:
    return pod["status"].get("phase") in {"Succeeded", "Failed"}


def is_deleted(obj: Json) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def has_begun(pod: Json) -> bool:
    """Whether any container of the pod has run. Then volumes and network are there."""
    states = [one.get(state) or {} for one in statuses(pod) for state in ("state", "lastState")]
    return any("running" in state or "terminated" in state for state in states)


def born(obj: Json) -> str:
    return str(obj["metadata"].get("creationTimestamp", ""))


def agent_of(obj: Json) -> str:
    return str((obj["metadata"].get("labels") or {}).get(names.AGENT_LABEL, ""))


def has_certificate(pod: Json) -> bool:
    """Whether the pod's gateway has a certificate. Gateways of an older release have none."""
    return names.CERTIFICATE_LABEL in (pod["metadata"].get("labels") or {})


# Events.


def event_time(event: Json) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or "")


def event_words(event: Json) -> str:
    about = event["involvedObject"]
    return f"{event.get('reason')} ({about.get('kind')} {about.get('name')}): {event.get('message')}"


def is_about(event: Json, pods: Sequence[Json]) -> bool:
    """Whether the event is about one of these pods, or about something that is no pod, such as a claim or a
    deployment.
    """
    about: Json = event["involvedObject"]
    return about.get("kind") != "Pod" or about.get("name") in {pod["metadata"]["name"] for pod in pods}


def warnings(events: Sequence[Json], pods: Sequence[Json]) -> list[str]:
    """The last five warnings, without those about pods that are gone."""
    told = [event for event in events if event.get("type") == "Warning" and is_about(event, pods)]
    return [event_words(event) for event in sorted(told, key=event_time)[-5:]]


# Words and times.


def words(text: str, *, length: int = WORDS_LENGTH) -> str:
    return text.replace("\0", "").encode(errors="replace").decode()[:length]


def lines(said: Iterable[object]) -> tuple[str, ...]:
    """The texts as lines: each line once, LINES at most."""
    texts = (words(line, length=LINE_LENGTH) for line in said if isinstance(line, str) and line)
    return tuple(list(dict.fromkeys(texts))[:LINES])


def moment(text: object) -> datetime | None:
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


# What is kept of an object in memory. Only fields that are read are kept: with many pods each field costs memory.


def keep_namespace(obj: Json) -> Json:
    return {
        "metadata": _metadata(obj),
        "status": _some(obj.get("status"), "conditions"),
        "digest": digests.digest({**obj, "kind": "Namespace"}),
    }


def keep_digest(kind: str, obj: Json) -> Json:
    """The name and the digest of an object. Lists name the kind only once, so it is added here."""
    return {"metadata": _some(obj["metadata"], "name", "namespace"), "digest": digests.digest({**obj, "kind": kind})}


def keep_limits(obj: Json) -> Json:
    """The object names Secrets as its owners; these Secrets exist (agents.clusters.api.digests)."""
    owners = obj["metadata"].get("ownerReferences") or ()
    secrets = {f"Secret/{one['name']}": one["uid"] for one in owners if one["kind"] == "Secret"}
    return {**keep_digest("LimitRange", obj), "secrets": secrets}


def keep_volume(obj: Json) -> Json:
    """The volume, as if it were in its claim's namespace: that is where it is looked up."""
    home = (obj["spec"].get("claimRef") or {}).get("namespace")
    metadata = {"name": obj["metadata"]["name"], **({"namespace": home} if home else {})}
    return {"metadata": metadata, "digest": digests.digest({**obj, "kind": "PersistentVolume"})}


def keep_deployment(obj: Json) -> Json:
    return {
        "metadata": _metadata(obj),
        "spec": _some(obj.get("spec"), "replicas"),
        "status": _some(obj.get("status"), "conditions"),
        "digest": digests.digest({**obj, "kind": "Deployment"}),
    }


def keep_pod(obj: Json) -> Json:
    status = obj.get("status") or {}
    told = _some(status, "phase", "reason", "message", "podIP", "startTime", "conditions")
    for group in STATUSES:
        if found := status.get(group):
            told[group] = [_some(one, "name", "ready", "restartCount", "state", "lastState") for one in found]
    return {"metadata": _metadata(obj), "status": told}


def keep_event(obj: Json) -> Json:
    told = _some(obj, "type", "reason", "message", "lastTimestamp", "eventTime")
    about = obj.get("involvedObject") or {}
    return {**told, "involvedObject": _some(about, "kind", "name")}


def _metadata(obj: Json) -> Json:
    metadata = obj["metadata"]
    labels = metadata.get("labels") or {}
    told = _some(metadata, "name", "namespace", "creationTimestamp", "deletionTimestamp", "finalizers")
    return {**told, "labels": _some(labels, names.AGENT_LABEL, names.CERTIFICATE_LABEL)}


def _some(obj: Json | None, *fields: str) -> Json:
    return {field: obj[field] for field in fields if obj.get(field) is not None} if obj else {}
