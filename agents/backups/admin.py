"""Backups and repositories in the console: looked at, never written."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from agents.backups.models import Backup, Repository


class _OnlyLookedAt(admin.ModelAdmin[Any]):
    list_select_related = ("agent",)
    show_full_result_count = False
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Backup)
class BackupAdmin(_OnlyLookedAt):
    list_display = ("name", "agent", "kind", "stage", "taken_at", "size", "note")
    list_filter = ("stage", "kind")
    search_fields = ("agent__id", "name", "id")
    exclude = ("credential",)


@admin.register(Repository)
class RepositoryAdmin(_OnlyLookedAt):
    list_display = ("agent", "made_at", "failures", "failure", "failed_at", "expires_at")
    search_fields = ("agent__id", "failure")
    exclude = ("password", "credential")
