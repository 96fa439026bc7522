"""The end of each pod's log, kept for the time after the pod. It is fetched before the pod is stopped or removed, and
from time to time."""

from __future__ import annotations

import logging
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

from django.db import connection, transaction
from django.utils import timezone

from agents.models import Agent, KeptLog
from agents.pod.logs import log_files
from agents.pod.logs.reading import Chunk, Left
from agents.pod.turns.failures import HopFailure
from agents.running import pods
from agents.runtimes import current_runtime, pod_logs
from agents.runtimes.pod_logs import Tail

log = logging.getLogger(__name__)

KEPT_BYTES = 256 * 1024
# The logs of this many last pods of an agent are kept.
KEPT_LIVES = 3
# How many pods one round asks, how many at the same time, and for how many seconds it begins new ones.
AT_ONCE, THREADS, ROUND_SECONDS = 400, 8, 20.0


def of(agent: Agent) -> list[Left]:
    """The kept logs of this agent's pods, the oldest first."""
    return [Left(row.life, [_chunk(row)]) for row in KeptLog.objects.filter(agent=agent).order_by("life")]


def keep(agent: Agent, namespace: str) -> None:
    """Keep the end of this pod's log, if its gateway gives it. A stop never waits or fails because of the gateway."""
    known = KeptLog.objects.filter(agent=agent).order_by("-life").values_list("life", "base", "size").first()
    life, base, size = known or ("none", 0, 0)
    try:
        found = _tail(agent, namespace, life=life, end=base + size)
    except HopFailure as failure:
        log.info(
            "a pod's log could not be kept", extra={"agent": agent.id, "namespace": namespace, "error": str(failure)}
        )
        return
    except Exception:
        log.exception("a pod's log could not be kept", extra={"agent": agent.id, "namespace": namespace})
        return
    if found and found.raw and (found.life, found.end) != (life, base + size):
        _write(agent, found)


def keep_due() -> int:
    """Keep the logs of running pods whose logs would be lost with them. Returns how many pods were asked."""
    namespaces = current_runtime().fleeting_logs(AT_ONCE)
    rows = Agent.objects.live().filter(suffix__in={pods.suffix_of(name) for name in namespaces})
    agents = {agent.namespace: agent for agent in rows}
    until = time.monotonic() + ROUND_SECONDS
    with ThreadPoolExecutor(THREADS, thread_name_prefix="keep-logs") as threads:
        list(threads.map(lambda name: _keep_in_time(agents.get(name), name, until), namespaces))
    return len(namespaces)


def _keep_in_time(agent: Agent | None, namespace: str, until: float) -> None:
    """Keep one pod's log in a thread of its own. After `until` it does nothing: a later round does it."""
    if agent is None or time.monotonic() > until:
        return
    try:
        keep(agent, namespace)
    except Exception:
        log.exception("a pod's log could not be kept", extra={"agent": agent.id, "namespace": namespace})
    finally:
        connection.close()


def _tail(agent: Agent, namespace: str, *, life: str, end: int) -> Tail | None:
    runtime = current_runtime()
    if left := runtime.left_log(namespace):
        base, raw = log_files.tail(left.chunks, KEPT_BYTES)
        return Tail(life=left.life, base=base, raw=raw)
    endpoint = runtime.endpoint(namespace)
    if endpoint is None:
        return None
    return pod_logs.tail(endpoint, pods.access_of(agent), size=KEPT_BYTES, life=life, end=end)


@transaction.atomic
def _write(agent: Agent, tail: Tail) -> None:
    """Store the log, unless a later end of the same pod's log is already stored or the agent is deleted."""
    row = Agent.objects.live().locked().filter(pk=agent.pk).first()
    if row is None or KeptLog.objects.filter(agent=agent, life=tail.life, base__gt=tail.end).exists():
        return
    packed = zlib.compress(tail.raw)
    values = {"base": tail.base, "size": len(tail.raw), "packed": packed, "kept_at": timezone.now()}
    KeptLog.objects.update_or_create(agent=agent, life=tail.life, defaults=values)
    lives = KeptLog.objects.filter(agent=agent).order_by("-life").values_list("pk", flat=True)
    KeptLog.objects.filter(pk__in=list(lives[KEPT_LIVES:])).delete()


def _chunk(row: KeptLog) -> Chunk:
    packed = bytes(row.packed)
    return Chunk(row.base, row.size, lambda: zlib.decompress(packed))
