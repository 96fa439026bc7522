"""Tasks about clusters. Each gets ids and calls one rule. Only workers import this module."""

from __future__ import annotations

from celery import shared_task

from agents.clusters import abandoning, checking


@shared_task(name="agents.check_cluster")
def check_cluster(cluster_id: str, operator: str = "") -> None:
    checking.check_and_tell(cluster_id, operator=operator)


@shared_task(name="agents.lose_cluster")
def lose_cluster(cluster_id: str, actor: str) -> None:
    abandoning.go_on(cluster_id, actor=actor)
