"""A lapse: the time in which nobody pays for an agent, from the stop of its pod on."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from agents.models import Agent
from billing.vocabulary import TermMode


class Lapse(models.Model):
    """Written when the pod has stopped. The time until deletion counts from that moment, not from the planned one."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="lapses")
    mode = models.CharField(max_length=8, choices=TermMode.choices)
    stopped_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True, help_text="When the agent was paid for again.")

    class Meta:
        ordering = ("-stopped_at",)
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["agent"], condition=Q(ended_at__isnull=True), name="lapse_one_open"),
        ]

    def __str__(self) -> str:
        return f"{self.agent_id} since {self.stopped_at:%Y-%m-%d %H:%M}"
