"""Shared base classes of billing's admin pages: rows that steps correct, and the newest rows of an agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from config.admin_steps import WithSteps
from config.read_only import ReadOnly, WrittenByRules

ROWS = 50
PERMISSION = "billing.correct_term"


class Corrected(WithSteps, WrittenByRules):
    """Rows that operators can correct by steps. Each step calls one rule and needs a reason."""

    def has_correct_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(PERMISSION)


class NewestRows(ReadOnly, admin.TabularInline[Any, Any]):
    """The newest rows of an agent, at most 50."""

    extra = 0
    can_delete = False
    show_change_link = True
    max_num = 0

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        formset = super().get_formset(request, obj, **kwargs)

        class Bounded(formset):  # type: ignore[misc,valid-type]  # the base class is made at run time
            def get_queryset(self) -> QuerySet[Any]:
                rows: QuerySet[Any] = super().get_queryset()
                return rows[:ROWS]

        return Bounded


class RowsByRule(admin.SimpleListFilter):
    """A filter whose every choice is a rule that says which rows it leaves."""

    rules: ClassVar[dict[str, tuple[str, Callable[[], QuerySet[Any]]]]]  # by value: the label and the rule

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, label) for value, (label, _) in self.rules.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.rules.get(self.value() or "")
        return queryset.filter(pk__in=chosen[1]().values("pk")) if chosen else queryset


def actor_of(request: HttpRequest) -> str:
    return f"operator:{request.user.pk}"
