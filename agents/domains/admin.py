"""Claims to hostnames in the admin, present and past ones. Everything is read-only."""

from django.contrib import admin

from agents.domains.models import DomainClaim
from config.read_only import WrittenByRules


@admin.register(DomainClaim)
class DomainClaimAdmin(WrittenByRules):
    list_display = ("domain", "status", "agent", "user", "claimed_at", "proved_at", "points_since", "ended_at")
    list_filter = ("status", "by_address")
    search_fields = ("domain", "agent__id", "user__email", "value")
    search_help_text = "Hostname, agent's id, owner's e-mail, or value of the TXT record"
    list_select_related = ("agent", "user")
    ordering = ("-claimed_at",)
