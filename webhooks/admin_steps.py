"""Steps of operators on deliveries."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from config.admin_steps import Given, Logged, Step
from webhooks import deliveries
from webhooks.models import Delivery, State


class ResendDeliveries(Step[Delivery]):
    name, title, button, done = "resend_deliveries", "Resend deliveries", "Resend", "Will be sent again"
    model = Delivery
    related = ("event",)
    permission = "resend"
    bulk = True
    warnings = (
        "Each receiver gets the event again, with the same id and bytes, at the address that its hook has now.",
    )

    def among(self, chosen: QuerySet[Any]) -> QuerySet[Any]:
        return chosen.exclude(state=State.PENDING)

    def shown(self, row: Delivery) -> dict[str, str]:
        return {
            "event": row.pk,
            "type": row.event.type,
            "agent": row.agent_id,
            "state": row.state,
            "attempts": str(row.attempts),
            "error": row.error,
        }

    def take(self, row: Delivery, *, given: Given) -> Logged | None:
        deliveries.resend(row, actor=given.actor, now=given.now)
        return None
