"""How long the work that is overdue most waits, for each kind of work."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from accounts.models import Letter, SignInCode
from agents.models import Agent
from webhooks.models import Delivery


def seconds(*, now: datetime, backups: datetime | None) -> dict[str, float]:
    """By kind of work, 0 if nothing is due. `backups` is since when the most overdue backup waits. A statement for each
    of the others, by its index.
    """
    pending = Delivery.objects.pending()
    due = {
        "agents": _first(Agent.objects.due(now), "reconcile_at"),
        "terms": _first(Agent.objects.term_due(now), "term_due_at"),
        "deliveries": _first(pending.filter(lease_until=None), "next_attempt_at"),
        "codes": _first(SignInCode.objects.filter(mail_due_at__isnull=False), "mail_due_at"),
        "letters": _first(Letter.objects.filter(mail_due_at__isnull=False), "mail_due_at"),
        "backups": backups,
    }
    return {name: max(0.0, (now - at).total_seconds()) if at else 0.0 for name, at in due.items()}


def _first(rows: QuerySet[Any], column: str) -> datetime | None:
    return rows.order_by(column).values_list(column, flat=True).first()
