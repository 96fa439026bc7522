"""Objects that protect, and that somebody took away or weakened in a cluster: an incident that operators must see."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.utils import timezone

from agents.clusters.models import Cluster, Pod

log = logging.getLogger(__name__)


def note(pod: Pod, breach: Sequence[str]) -> None:
    """On the cluster's row and in the log. It was put back by then; until then it did not protect."""
    what = "; ".join(breach)
    log.error("an object that protects was not as it should be", extra={"agent": pod.agent_id, "breach": what})
    told = f"{pod.namespace}: {what}"
    Cluster.objects.filter(pk=pod.cluster_id).update(breached_at=timezone.now(), breach=told)
