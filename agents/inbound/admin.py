"""Messages from services in the admin: waiting, handed over, or dropped. Their contents are not shown."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from agents.inbound.models import InboundMessage


@admin.register(InboundMessage)
class InboundMessageAdmin(admin.ModelAdmin[InboundMessage]):
    list_display = ("agent", "channel", "received_at", "due_at", "attempts", "last_error", "ended", "ended_at")
    list_filter = ("channel", "ended")
    search_fields = ("agent__id",)
    search_help_text = "Agent's id"
    list_select_related = ("agent",)
    list_per_page = 50
    show_full_result_count = False
    ordering = ("-id",)
    exclude = ("body",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
