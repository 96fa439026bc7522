"""The admin page of accounts that their owners delete. It shows what a deletion still waits for."""

from django.contrib import admin

from billing.models import AccountDeletion
from config.read_only import WrittenByRules


@admin.register(AccountDeletion)
class AccountDeletionAdmin(WrittenByRules):
    list_display = ("user", "stage", "asked_at", "closes_at", "closed_at", "done_at", "waits_for", "due_at")
    list_filter = ("stage", "asked_at")
    list_select_related = ("user",)
    search_fields = ("user__id", "user__email")
