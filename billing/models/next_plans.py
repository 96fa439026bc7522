"""The smaller plan that an owner chose for the time after the paid time."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from agents.models import Agent
from catalog.vocabulary import TierId


class NextPlan(models.Model):
    """At most one per agent. Price and plan are frozen when it is chosen, as in an order."""

    agent = models.OneToOneField(Agent, on_delete=models.PROTECT, primary_key=True, related_name="next_plan")
    tier = models.CharField(max_length=20, choices=TierId.choices)
    price_usd = models.DecimalField(max_digits=10, decimal_places=2)
    tier_snapshot = models.JSONField()
    chosen_at = models.DateTimeField()
    dropped_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When the owner decided to keep the old plan. A charge of this price may still be under way.",
    )

    class Meta:
        ordering = ("-chosen_at", "-agent_id")
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=Q(price_usd__gt=0), name="next_plan_price"),
        ]

    def __str__(self) -> str:
        return f"{self.tier} ({self.agent_id})"
