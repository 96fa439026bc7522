"""Accounts in the admin: suspend and restore an account together with its agents."""

from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.admin import UserAdmin
from accounts.models import User
from agents import suspension
from agents.admin.steps import SuspendAccounts, stands_above
from config.admin_steps import WithSteps
from config.errors import ServiceError

admin.site.unregister(User)


@admin.register(User)
class AccountAdmin(WithSteps, UserAdmin):
    steps = (SuspendAccounts(),)
    actions = ("restore_accounts",)

    @admin.action(description="Restore (keys and sessions are valid again, agents start)", permissions=["change"])
    def restore_accounts(self, request: HttpRequest, users: QuerySet[User]) -> None:
        for user in self.bounded(request, users):
            if above := stands_above(request.user, user):
                self.message_user(request, f"{user}: {above}", messages.ERROR)
                continue
            try:
                suspension.restore(user, actor=f"operator:{request.user.pk}")
            except ServiceError as refusal:
                self.message_user(request, f"{user}: {refusal.message}", messages.ERROR)
                continue
            self.log_change(request, user, "Restored.")
            self.message_user(
                request, f"{user}: restored; the agents that the suspension stopped start again", messages.SUCCESS
            )
