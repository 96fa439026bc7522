"""Shared base classes of billing's admin pages: read-only rows, and steps that need the permission to correct them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from config.admin_steps import WithSteps

ROWS = 50
PERMISSION = "billing.correct_term"


class WrittenByRules(admin.ModelAdmin[Any]):
    """Rows that only rules write. The console shows them and cannot change them."""

    list_per_page = 50
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class Corrected(WithSteps, WrittenByRules):
    """Rows that operators can correct by steps. Each step calls one rule and needs a reason."""

    def has_correct_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(PERMISSION)


class NewestRows(admin.TabularInline[Any, Any]):
    """The newest rows of an agent, at most 50."""

    extra = 0
    can_delete = False
    show_change_link = True
    max_num = 0

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        formset = super().get_formset(request, obj, **kwargs)

        class Bounded(formset):  # type: ignore[misc,valid-type]  # the base class is made at run time
            def get_queryset(self) -> QuerySet[Any]:
                rows: QuerySet[Any] = super().get_queryset()
                return rows[:ROWS]

        return Bounded


def actor_of(request: HttpRequest) -> str:
    return f"operator:{request.user.pk}"
