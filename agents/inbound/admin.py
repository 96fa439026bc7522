"""Messages from services in the admin: waiting, handed over, or dropped. Their contents are not shown."""

from django.contrib import admin

from agents.inbound.models import InboundMessage
from config.read_only import WrittenByRules


@admin.register(InboundMessage)
class InboundMessageAdmin(WrittenByRules):
    list_display = ("agent", "channel", "received_at", "due_at", "attempts", "last_error", "ended", "ended_at")
    list_filter = ("channel", "ended")
    search_fields = ("agent__id",)
    search_help_text = "Agent's id"
    list_select_related = ("agent",)
    ordering = ("-id",)
    exclude = ("body",)
