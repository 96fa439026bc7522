"""Claims to hostnames in the admin, present and past ones. Everything is read-only."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from agents.domains.models import DomainClaim


@admin.register(DomainClaim)
class DomainClaimAdmin(admin.ModelAdmin[DomainClaim]):
    list_display = ("domain", "status", "agent", "user", "claimed_at", "proved_at", "points_since", "ended_at")
    list_filter = ("status", "by_address")
    search_fields = ("domain", "agent__id", "user__email", "value")
    search_help_text = "Hostname, agent's id, owner's e-mail, or value of the TXT record"
    list_select_related = ("agent", "user")
    list_per_page = 50
    show_full_result_count = False
    ordering = ("-claimed_at",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
