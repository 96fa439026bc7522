"""Filters of the list of terms: by their end, and by contradictions that must not be."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from agents.models import Desired
from billing import invariants
from billing.admin.base import RowsByRule


class ContradictionFilter(RowsByRule):
    title, parameter_name = "contradiction", "contradiction"
    rules = {
        "unpaid_but_running": ("unpaid but running", lambda: invariants.unpaid_but_running(timezone.now())),
        "paid_but_stopped": ("paid but stopped", lambda: invariants.paid_but_stopped(timezone.now())),
    }


class EndsFilter(admin.SimpleListFilter):
    """Deleted agents are left out of each choice."""

    title, parameter_name = "ends", "ends"
    DAYS: ClassVar[dict[str, tuple[str, int, int]]] = {
        "past": ("In the past 7 days", -7, 0),
        "day": ("Within 24 hours", 0, 1),
        "three": ("Within 3 days", 0, 3),
        "week": ("Within 7 days", 0, 7),
        "month": ("Within 30 days", 0, 30),
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, label) for value, (label, _, _) in self.DAYS.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in self.DAYS:
            return queryset
        _, first, last = self.DAYS[str(self.value())]
        now = timezone.now()
        ends = Q(entitled_until__gte=now + timedelta(days=first), entitled_until__lt=now + timedelta(days=last))
        return queryset.filter(ends).exclude(desired=Desired.DELETED)
