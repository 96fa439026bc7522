"""Rows of others as the console of billing shows them."""

from __future__ import annotations

from typing import ClassVar

from agents.models import Agent
from billing.models.payments import Payment


class AgentTerm(Agent):
    """The same rows: what each agent runs on, and what operators may do about it."""

    class Meta:
        proxy = True
        verbose_name = "term"
        default_permissions = ("view",)
        permissions: ClassVar = [("correct_term", "Can grant, revoke, credit and refund")]


class Books(Payment):
    """What contradicts itself, and what waits for a decision: one page of the console, without rows of its own."""

    class Meta:
        proxy = True
        verbose_name = verbose_name_plural = "books"
        default_permissions = ("view",)
