"""Columns of the list of agents: what an operator decides on, short enough for a narrow screen."""

from __future__ import annotations

from typing import ClassVar

from django.contrib import admin
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import Truncator
from django.utils.timesince import timesince

from agents.models import Agent, QuotaStatus, Status

# A download has the plain columns.
PLAIN = ("id", "name", "user", "status", "desired", "status_since", "engine", "tier", "quota_status", "paid",
         "entitled_until", "cause", "created_at")  # fmt: skip
LONGEST_MESSAGE = 80  # characters of a cause
SHOWN = ("agent", "user", "state", "age", "plan", "term", "problem")


class WithColumns(admin.ModelAdmin[Agent]):
    list_display = SHOWN
    csv_columns: ClassVar[tuple[str, ...]] = PLAIN

    @admin.display(description="agent", ordering="name")
    def agent(self, agent: Agent) -> str:
        return format_html('{}<br><small class="quiet">{}</small>', agent.name, agent.pk)

    @admin.display(description="status", ordering="status")
    def state(self, agent: Agent) -> str:
        """The status, and what is wanted if that is still to come."""
        if agent.status in {agent.desired, Status.DELETED, Status.FAILED}:
            return agent.status
        return format_html('{}<br><small class="quiet">wanted: {}</small>', agent.status, agent.desired)

    @admin.display(description="for", ordering="status_since")
    def age(self, agent: Agent) -> str:
        return timesince(agent.status_since, timezone.now(), depth=1)

    @admin.display(description="plan", ordering="tier")
    def plan(self, agent: Agent) -> str:
        return format_html('{}<br><small class="quiet">{}</small>', agent.tier, agent.engine)

    @admin.display(description="paid until", ordering="entitled_until")
    def term(self, agent: Agent) -> str:
        kind = "paid" if agent.paid else "free"
        return f"{kind}, {agent.entitled_until:%Y-%m-%d}" if agent.entitled_until else f"{kind}, no end"

    @admin.display(description="problem", ordering="cause")
    def problem(self, agent: Agent) -> str:
        """The cause of a failure in a word and a sentence, and the quota if it is not kept."""
        quota = agent.quota_snapshot.status if hasattr(agent, "quota_snapshot") else QuotaStatus.OK
        words = ", ".join(filter(None, (agent.cause, "" if quota == QuotaStatus.OK else f"quota {quota}"))) or "-"
        if not agent.cause_message:
            return words
        told = Truncator(agent.cause_message).chars(LONGEST_MESSAGE)
        return format_html('{}<br><small class="quiet" dir="auto">{}</small>', words, told)
