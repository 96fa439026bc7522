"""The overview at the top of the console."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone

from status import loops
from status.models import Incident, Loop
from status.overview import cards, facts, months
from status.overview.facts import FactHistory
from status.service_levels import levels

OLD = timedelta(minutes=5)


def context(request: HttpRequest) -> dict[str, object]:
    """What the template shows: only the cards whose list this person may see."""
    now = timezone.now()
    histories, measured_at = facts.histories(now=now)
    groups = {
        group: [
            cards.shown(card, histories.get(card.fact, FactHistory()), now=now)
            for card in of_group
            if _sees(request, card.list_)
        ]
        for group, of_group in cards.GROUPS.items()
    }
    return {
        "groups": {group: of_group for group, of_group in groups.items() if of_group},
        "measured_at": measured_at,
        "is_old": measured_at is None or now - measured_at > OLD,
        "incidents": Incident.objects.filter(resolved_at=None)[:10] if _sees(request, "status.incident") else [],
        "late_loops": _late(now) if _sees(request, "status.loop") else [],
        "service_levels": [one for one in levels.kept(now=now) if _sees(request, one.level.list_)],
        "slo_days": levels.DAYS,
        "days": facts.SHOWN_DAYS,
        "months": months.of_money(now=now) if _sees(request, "billing.reports") else [],
    }


def _sees(request: HttpRequest, list_: str) -> bool:
    return admin.site.get_model_admin(apps.get_model(list_)).has_view_permission(request)


def _late(now: datetime) -> list[Loop]:
    """The loops that missed about three runs."""
    noted = [loop for loop in Loop.objects.order_by("succeeded_at") if loop.name in loops.PERIODS]
    return [loop for loop in noted if loops.is_late(loop.name, last=loop.succeeded_at, now=now)]
