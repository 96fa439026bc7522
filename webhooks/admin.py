"""Hooks, events and deliveries in the admin: operators can see them, and send deliveries again."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.contrib import admin
from django.http import HttpRequest

from config.admin_sections import RepairButton, WithSections
from config.long_lists import WhenFilter, one_of
from config.read_only import WrittenByRules
from webhooks.admin_steps import ResendDeliveries
from webhooks.event_types import EventType
from webhooks.models import Delivery, Event, Hook, State

MASKED = "•••••• (set)"


@admin.register(Hook)
class HookAdmin(WrittenByRules):
    list_display = ("agent", "receiver", "last_status", "last_at", "last_event", "slow", "rotated_at")
    list_filter = ("slow", ("last_event", one_of(EventType.choices)))
    search_fields = ("agent__id", "agent__user__email", "^authority")
    search_help_text = "Agent id, its owner's e-mail, or the beginning of the receiver's host"
    list_select_related = ("agent",)
    fields = ("agent", "receiver", "secret_", "previous_secret_", "created_at", "rotated_at", "last_status", "last_at",
              "last_event", "slow")  # fmt: skip

    @admin.display(description="receiver")
    def receiver(self, hook: Hook) -> str:
        """The URL without its query, in which some receivers keep a token."""
        parts = urlsplit(hook.url)
        return f"{parts.scheme}://{parts.netloc}{parts.path}" + ("?…" if parts.query else "")

    @admin.display(description="secret")
    def secret_(self, _: Hook) -> str:
        return MASKED

    @admin.display(description="previous secret")
    def previous_secret_(self, hook: Hook) -> str:
        return MASKED if hook.previous_secret else "none"


@admin.register(Event)
class EventAdmin(WrittenByRules):
    list_display = ("id", "created_at", "type", "agent", "delivery_state")
    list_filter = ("type", ("created_at", WhenFilter))
    search_fields = ("id", "agent__id", "agent__user__email")
    search_help_text = "Event id, agent id, or the owner's e-mail"
    list_select_related = ("agent", "delivery")
    ordering = ("-created_at", "-id")
    sortable_by = ()
    fields = ("id", "type", "agent", "created_at", "body", "delivery_state")

    @admin.display(description="delivery")
    def delivery_state(self, event: Event) -> str:
        return event.delivery.get_state_display() if hasattr(event, "delivery") else "no webhook"


def _resend(delivery: Delivery) -> str:
    if delivery.state == State.PENDING:
        return "It is being delivered."
    return "" if hasattr(delivery.agent, "hook") else "Its agent has no webhook."


@admin.register(Delivery)
class DeliveryAdmin(WrittenByRules, WithSections):
    list_display = ("event_id", "created_at", "type", "agent", "receiver", "state", "attempts", "answer", "finished_at")
    csv_columns = ("event_id", "created_at", "type", "agent", "receiver", "state", "attempts", "http_status", "error",
                   "duration_ms", "finished_at", "resent_by")  # fmt: skip
    list_filter = ("state", "error", ("created_at", WhenFilter))
    search_fields = ("event__id", "agent__id", "agent__user__email", "^agent__hook__authority")
    search_help_text = "Event id, agent id, the owner's e-mail, or the beginning of the receiver's host"
    list_select_related = ("agent__hook", "event")
    ordering = ("-created_at", "-pk")
    sortable_by = ()
    steps = (ResendDeliveries(),)
    repairs = [RepairButton(step=ResendDeliveries(), model=Delivery, about="Same id, same bytes.", why_not=_resend)]
    exclude = ("lease_token",)

    @admin.display(description="receiver")
    def receiver(self, delivery: Delivery) -> str:
        return delivery.agent.hook.authority if hasattr(delivery.agent, "hook") else "no webhook"

    @admin.display(description="last answer")
    def answer(self, delivery: Delivery) -> str:
        """The status or the error, and how long the receiver took."""
        told = str(delivery.http_status or delivery.error or "none")
        return f"{told}, {delivery.duration_ms} ms" if delivery.duration_ms is not None else told

    @admin.display(description="type")
    def type(self, delivery: Delivery) -> str:
        return delivery.event.type

    def has_resend_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("webhooks.change_delivery")
