"""What all pages of billing share: rows that only rules write, and actions that take a reason and call one rule."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from config.errors import ServiceError

REASON_LENGTH = 500
ROWS = 50
PERMISSION = "billing.correct_term"
ONCE_BYTES = 16
_ONCE = re.compile(r"[0-9a-f]{32}")

Rule = Callable[[Any, str], object]  # a row and the reason


class ReasonForm(ActionForm):
    reason = forms.CharField(required=False, max_length=REASON_LENGTH, strip=True, label="Reason")
    once = forms.CharField(required=False, widget=forms.HiddenInput, initial=partial(secrets.token_hex, ONCE_BYTES))


class CreditForm(ReasonForm):
    """What is wrong in these the rules say aloud."""

    days = forms.CharField(required=False, max_length=5, label="Days (to credit)")
    agent = forms.CharField(required=False, max_length=40, label="Agent (if another)")


class WrittenByRules(admin.ModelAdmin[Any]):
    """Rows that only rules write: to see, to find, not to touch."""

    list_per_page = 50
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class Corrected(WrittenByRules):
    """Rows that operators may do something about: each action calls one rule, with a reason."""

    action_form = ReasonForm

    def has_correct_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(PERMISSION)

    def each(self, request: HttpRequest, rows: QuerySet[Any], rule: Rule, *, done: str = "done") -> None:
        """The rule for each row that was chosen; what one refuses stops no other."""
        reason = request.POST.get("reason", "").strip()[:REASON_LENGTH]
        if not reason:
            self.message_user(request, "Nothing was done: give the reason beside the action.", messages.ERROR)
            return
        for row in rows[:ROWS]:
            try:
                rule(row, reason)
            except ServiceError as refusal:
                self.message_user(request, f"{row.pk}: {refusal.message}", messages.ERROR)
            else:
                self.log_change(request, row, f"{request.POST.get('action')}: {reason}")
                self.message_user(request, f"{row.pk}: {done}", messages.SUCCESS)


class Newest(admin.TabularInline[Any, Any]):
    """The latest rows of an agent."""

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

        class Bounded(formset):  # type: ignore[misc,valid-type]  # made by the line above
            def get_queryset(self) -> QuerySet[Any]:
                rows: QuerySet[Any] = super().get_queryset()
                return rows[:ROWS]

        return Bounded


def actor_of(request: HttpRequest) -> str:
    return f"operator:{request.user.pk}"


def days_in(request: HttpRequest) -> int:
    """0, which no rule takes, for what is not a number."""
    given = request.POST.get("days", "")
    return int(given) if given.isascii() and given.isdigit() else 0


def agent_in(request: HttpRequest) -> str:
    return request.POST.get("agent", "").strip()[:40]


def once_in(request: HttpRequest) -> str:
    """What one page sends however often its button is pressed."""
    given = request.POST.get("once", "")
    return given if _ONCE.fullmatch(given) else secrets.token_hex(ONCE_BYTES)
