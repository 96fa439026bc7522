"""Agents as billing's console shows them."""

from __future__ import annotations

from typing import ClassVar

from agents.models import Agent


class AgentTerm(Agent):
    """The same rows: what each agent runs on, and what operators may do about it."""

    class Meta:
        proxy = True
        verbose_name = "term"
        default_permissions = ("view",)
        permissions: ClassVar = [("correct_term", "Can grant, revoke, credit and refund")]
