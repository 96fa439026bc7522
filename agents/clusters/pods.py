"""The rows from which all processes know the pods in clusters. No process asks a cluster for this."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta

from django.db.models import BooleanField
from django.db.models.expressions import RawSQL
from django.utils import timezone

from agents.cause import Cause
from agents.clusters import probes
from agents.clusters.api import digests
from agents.clusters.api.digests import Digests
from agents.clusters.models import POLICY, Cluster, Pod
from agents.runtimes.base import Endpoint, Observation, Phase
from config import sql

_SEEN = (
    "namespace", "phase", "gateway_alive", "revision", "restarts", "cause", "message", "evidence", "since", "strayed",
)  # fmt: skip
# Three special cases. A pod of an older release has nothing noted: it is repaired once, and that notes it. A pod that
# is well again may still have something to be put on the timeline. A claim that the observer had not seen when the
# volume was noted is noted by a repair.
_STRAYED = RawSQL(
    """(agents_pod.seen IS NOT NULL AND (agents_pod.kept IS NULL OR NOT agents_pod.seen @> agents_pod.kept))
    OR (agents_pod.secrets_seen IS NOT NULL
        AND (agents_pod.secrets IS NULL OR NOT agents_pod.secrets_seen @> agents_pod.secrets))
    OR (agents_pod.seen ? %s AND NOT agents_pod.kept ? %s
        AND agents_pod.kept @? '$.keyvalue() ? (@.key starts with "PersistentVolume/")')
    OR agents_pod.astray <> '[]'""",
    (digests.CLAIM, digests.CLAIM),
    output_field=BooleanField(),
)

# After this time the workload is looked at again.
LOOKED_AT_AGAIN = timedelta(seconds=30)

# One worker takes each pod, so that all pods get their turn.
_LOGS_TO_KEEP = """
UPDATE agents_pod SET logs_kept_at = %(now)s
WHERE namespace IN (
    SELECT namespace FROM agents_pod
    WHERE gateway_alive AND (logs_kept_at IS NULL OR logs_kept_at < %(lately)s)
    ORDER BY logs_kept_at NULLS FIRST LIMIT %(limit)s FOR NO KEY UPDATE SKIP LOCKED
)
RETURNING namespace
"""
LOGS_KEPT_AGAIN = timedelta(seconds=60)

_KEEP_SOME = "UPDATE agents_pod SET kept = kept || %s::jsonb WHERE namespace = %s"
_KEEP_AND_SEE_SOME = "UPDATE agents_pod SET kept = kept || %s::jsonb, seen = seen || %s::jsonb WHERE namespace = %s"
_LET_GO = "UPDATE agents_pod SET kept = kept - %s::text[] WHERE namespace = %s"
_ASTRAY = "UPDATE agents_pod SET astray = astray || to_jsonb(%s::text) WHERE namespace = %s AND NOT astray ? %s"
_FORGET_NOTES = "UPDATE agents_pod SET astray = astray - %s::text[] WHERE namespace = %s"


def make(namespace: str, *, agent_id: str, cluster: Cluster, public_url: str | None) -> Pod:
    """Make the row of a pod that is about to be made. It is made before the first call, so that nothing of the pod can
    be forgotten."""
    pod, is_new = Pod.objects.get_or_create(
        namespace=namespace, defaults={"agent_id": agent_id, "cluster": cluster, "public_url": public_url}
    )
    if not is_new and pod.public_url != public_url:
        Pod.objects.filter(pk=namespace).update(public_url=public_url)
    return pod


def find(namespace: str) -> Pod | None:
    return Pod.objects.select_related("cluster").filter(pk=namespace).first()


def observed(suffix: str | None) -> dict[str, Observation]:
    """Every pod of every cluster, or of one agent, as last seen."""
    pods = Pod.objects.all() if suffix is None else Pod.objects.filter(namespace__startswith=f"pod-{suffix}-")
    return {row[0]: _observation(row) for row in pods.annotate(strayed=_STRAYED).values_list(*_SEEN)}


def noted(pod: Pod) -> Digests:
    """How the pod's objects must stay, with its Secrets: digests and uids as the driver noted them."""
    return {**(pod.kept or {}), **(pod.secrets or {})}


def seen(pod: Pod) -> Digests:
    """How the observer saw the pod's objects. An observer of an older release does not know of Secrets."""
    return {**(pod.seen or {}), **((pod.secrets if pod.secrets_seen is None else pod.secrets_seen) or {})}


def keep(namespace: str, found: Digests) -> None:
    """Note how all objects of the pod must stay."""
    secrets = {key: uid for key, uid in found.items() if digests.is_secret(key)}
    others = {key: digest for key, digest in found.items() if key not in secrets}
    Pod.objects.filter(pk=namespace).update(kept=others, secrets=secrets)


def note_policy(namespace: str, found: Digests, *, is_limited: bool) -> None:
    """Note whether the pod's network policy, if it is among these objects, keeps the engine to its list of hosts."""
    if POLICY in found:
        Pod.objects.filter(pk=namespace).update(limiting=found[POLICY] if is_limited else "")


def note_astray(namespace: str, words: str) -> None:
    """Note that an object was found gone or changed. It still has to go on the timeline (`told`)."""
    sql.execute(_ASTRAY, [words, namespace, words])


def astray(namespace: str) -> list[str]:
    found = Pod.objects.filter(pk=namespace).values_list("astray", flat=True).first()
    return sorted(found or [])


def forget_notes(namespace: str, words: Collection[str]) -> None:
    """Forget these notes: they are on the timeline, or were wrong."""
    if words:
        sql.execute(_FORGET_NOTES, [list(words), namespace])


def keep_some(namespace: str, digests: Digests, *, is_seen: bool = False) -> None:
    """Note how some objects of the pod must stay. If nothing was noted for the pod before, the whole pod must be
    repaired first.

    `is_seen`: we have just made the objects like this, so they count as seen like this until the observer has news.
    """
    text = json.dumps(digests)
    if is_seen:
        sql.execute(_KEEP_AND_SEE_SOME, [text, text, namespace])
    else:
        sql.execute(_KEEP_SOME, [text, namespace])


def let_go(namespace: str, keys: list[str]) -> None:
    """Keep no note of these objects any more: they were removed."""
    sql.execute(_LET_GO, [keys, namespace])


def stands(pod: Pod, fingerprint: str) -> bool:
    """Whether this workload was found complete a moment ago, and nothing seen since then says otherwise.

    So while a worker waits for a pod, it reads what the observer saw and makes no calls of its own.
    """
    if pod.deployed != fingerprint or pod.deployed_at is None or timezone.now() - pod.deployed_at > LOOKED_AT_AGAIN:
        return False
    as_told = pod.seen is None or (pod.kept is not None and noted(pod).items() <= seen(pod).items())
    return as_told and pod.phase != Phase.STOPPED and pod.cause != Cause.CONFIG


def found_whole(namespace: str, fingerprint: str | None) -> None:
    """Note the workload that was found complete; None when it is about to change."""
    Pod.objects.filter(pk=namespace).update(deployed=fingerprint, deployed_at=timezone.now())


def endpoint(namespace: str) -> Endpoint | None:
    """The pod's public address and its management address. None while the pod has no address."""
    columns = ("public_url", "pod_ip", "cluster__visitors_authority")
    public_url, ip, authority = Pod.objects.filter(pk=namespace).values_list(*columns).first() or (None, None, "")
    if ip is None:
        return None
    own = probes.endpoint(ip)
    return replace(own, public_url=public_url or own.public_url, authority=authority)


def logs_to_keep(limit: int) -> list[str]:
    """Pods whose log was not kept recently. Those that wait longest come first."""
    now = timezone.now()
    rows = sql.rows(_LOGS_TO_KEEP, {"now": now, "lately": now - LOGS_KEPT_AGAIN, "limit": limit})
    return [namespace for (namespace,) in rows]


def stopped_disks() -> dict[str, int | None]:
    """The disk of stopped pods in bytes, as last measured: it cannot be measured while nothing runs."""
    return dict(Pod.objects.filter(phase=Phase.STOPPED).values_list("namespace", "disk_bytes"))


def forget(namespace: str) -> None:
    Pod.objects.filter(pk=namespace).delete()


def _observation(row: tuple[object, ...]) -> Observation:
    values = dict(zip(_SEEN, row, strict=True))
    return Observation(**{**values, "phase": Phase(values["phase"])})  # type: ignore[arg-type] # the columns are its fields
