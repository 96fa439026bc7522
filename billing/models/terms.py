"""Proxy models for billing's pages in the console."""

from __future__ import annotations

from typing import ClassVar

from agents.models import Agent
from billing.models.payments import Payment


class AgentTerm(Agent):
    """An agent with its term, and the steps that operators may take."""

    class Meta:
        proxy = True
        verbose_name = "term"
        default_permissions = ("view",)
        permissions: ClassVar = [("correct_term", "Can grant, revoke, credit and refund")]


class Books(Payment):
    """The Books page of the console: contradictions, and what waits for a decision. It has no rows of its own."""

    class Meta:
        proxy = True
        verbose_name = verbose_name_plural = "books"
        default_permissions = ("view",)
