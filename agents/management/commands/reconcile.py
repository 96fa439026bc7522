"""`manage.py reconcile [AGENT]`: take the next step of one agent, or of all that are due, now."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agents.models import Agent
from agents.running import reconciler


class Command(BaseCommand):
    help = "Take the next step of one agent, or of every agent that is due."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("agent", nargs="?", help="id of an agent; without it, all that are due")

    def handle(self, *args: Any, agent: str | None, **options: Any) -> None:
        if agent is None:
            self.stdout.write(f"{reconciler.reconcile_due()} agents were due")
            return
        if not Agent.objects.filter(pk=agent).exists():
            raise CommandError(f"no such agent: {agent}")
        reconciler.reconcile(agent)
        row = Agent.objects.get(pk=agent)
        self.stdout.write(f"{agent}: {row.status}, wanted {row.desired}")
