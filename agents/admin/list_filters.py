"""Filters of the list of agents that are questions of operators."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from agents.backups import health
from agents.models import Agent, Cluster, Desired, Placement, Status

SOON = timedelta(days=1)
NIGHT = timedelta(hours=12)


class AttentionFilter(admin.SimpleListFilter):
    title, parameter_name = "question", "question"
    QUESTIONS: ClassVar[dict[str, str]] = {
        "paid-not-running": "Paid and not running",
        "paid-failed": "Paid and failed",
        "failed-lately": "Failed in the last 12 hours",
        "unsettled": "Not yet as wanted",
        "backup-overdue": "Backup older than 36 hours",
        "trial-ends": "Trial ends within 24 hours",
        "paid-ends": "Paid time ends within 24 hours",
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return list(self.QUESTIONS.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Agent]) -> QuerySet[Agent]:
        now = timezone.now()
        ends = Q(entitled_until__gte=now, entitled_until__lt=now + SOON) & ~Q(desired=Desired.DELETED)
        there = ~Q(desired=Desired.DELETED)
        asked = {
            "paid-not-running": there & Q(paid=True) & ~Q(status=Status.RUNNING),
            "paid-failed": there & Q(paid=True, status=Status.FAILED),
            "failed-lately": Q(status=Status.FAILED, status_since__gte=now - NIGHT),
            "unsettled": there & Q(desired=Desired.RUNNING) & ~Q(status__in=(Status.RUNNING, Status.FAILED))
            | ~Q(desired=Desired.RUNNING) & Q(status__in=(Status.RUNNING, Status.PROVISIONING)),
            "backup-overdue": health.is_overdue(now),
            "trial-ends": ends & Q(paid=False),
            "paid-ends": ends & Q(paid=True),
        }
        return queryset.filter(asked.get(self.value() or "", Q()))


class ClusterFilter(admin.SimpleListFilter):
    title, parameter_name = "cluster", "cluster"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in Cluster.objects.values_list("name", flat=True)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Agent]) -> QuerySet[Agent]:
        if not self.value():
            return queryset
        return queryset.filter(pk__in=Placement.objects.filter(cluster__name=self.value()).values("agent_id"))
