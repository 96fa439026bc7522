"""Records when somebody removed or weakened an object that protects pods: operators must see this incident."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.utils import timezone

from agents.clusters.models import Cluster, Pod

log = logging.getLogger(__name__)


def note(pod: Pod, breach: Sequence[str]) -> None:
    """Record the breach in the cluster's row and in the log. The object is back by then, but it did not protect in
    between."""
    what = "; ".join(breach)
    log.error("a protecting object was missing or changed", extra={"agent": pod.agent_id, "breach": what})
    told = f"{pod.namespace}: {what}"
    Cluster.objects.filter(pk=pod.cluster_id).update(breached_at=timezone.now(), breach=told)
