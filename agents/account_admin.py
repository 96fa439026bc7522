"""Accounts in the console as this app knows them: suspended and restored with their agents."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.admin import UserAdmin
from accounts.models import SUSPENSION_REASON_LENGTH, User
from agents import suspension


class ReasonForm(ActionForm):
    reason = forms.CharField(
        required=False, max_length=SUSPENSION_REASON_LENGTH, label="Reason (to suspend)", strip=True
    )


admin.site.unregister(User)


@admin.register(User)
class AccountAdmin(UserAdmin):
    action_form = ReasonForm
    actions = ("suspend_accounts", "restore_accounts")

    @admin.action(description="Suspend (tokens answer 401, agents stop)", permissions=["change"])
    def suspend_accounts(self, request: HttpRequest, users: QuerySet[User]) -> None:
        reason = str(request.POST.get("reason", "")).strip()[:SUSPENSION_REASON_LENGTH]
        if not reason:
            self.message_user(request, "Nobody was suspended: give the reason beside the action.", messages.ERROR)
            return
        for user in users:
            if refusal := _refusal(request.user, user):
                self.message_user(request, f"{user}: {refusal}", messages.ERROR)
                continue
            suspension.suspend(user, reason=reason, actor=f"operator:{request.user.pk}")
            self.log_change(request, user, f"Suspended: {reason}")
            self.message_user(request, f"{user}: suspended; the agents are being stopped", messages.SUCCESS)

    @admin.action(description="Restore (tokens are good again, agents start)", permissions=["change"])
    def restore_accounts(self, request: HttpRequest, users: QuerySet[User]) -> None:
        for user in users:
            suspension.restore(user, actor=f"operator:{request.user.pk}")
            self.log_change(request, user, "Restored.")
            self.message_user(request, f"{user}: restored; what the suspension stopped starts", messages.SUCCESS)


def _refusal(operator: Any, user: User) -> str:
    """Why this operator may not suspend this account: nobody shuts out themselves, or who stands above them."""
    if operator.pk == user.pk:
        return "you cannot suspend your own account"
    if user.is_superuser and not operator.is_superuser:
        return "only superusers suspend a superuser"
    return ""
