"""Operators' actions with backups that change agents. Each has its own page and needs a reason."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from agents import timeline
from agents.admin.steps import AgentStep, downtime
from agents.backups import by_owner, restoring, undoing
from agents.backups.models import Backup, Stage
from agents.models import Agent, Desired, Reason, Status
from config.admin_steps import Given, Logged, Step


class UndoDeletion(AgentStep):
    name, title, button, done = "undo_deletion", "Undo a deletion", "Bring back", "Brought back"
    alone = True
    material = (*AgentStep.material, "brought back")
    warnings = (
        "A new agent is made for the same owner, with a new id and address. It begins with the last backup.",
        "Persona, soul, tier, engine, name and tools are as before. Keys, tokens, MCP servers and the domain were"
        " deleted with the agent: its owner must set them again.",
        "It begins unpaid, with a trial of its own. Grant it paid time if it was paid.",
    )

    def among(self, chosen: QuerySet[Agent]) -> QuerySet[Agent]:
        there = Backup.objects.filter(agent=OuterRef("pk"), stage=Stage.DONE)
        return chosen.filter(Exists(there), status=Status.DELETED)

    def shown(self, row: Agent) -> dict[str, str]:
        """A second operator, whose page is older, must not make a second agent."""
        return {**super().shown(row), "brought back": undoing.brought_back(row) or "never"}

    def take(self, row: Agent, *, given: Given) -> Logged | None:
        agent = undoing.undo(row, actor=given.actor, why=given.reason)
        given.say(f"The new agent is {agent.pk}.")
        return [(row, f"Brought back as {agent.pk}: {given.reason}"), (agent, f"Brought back: {given.reason}")]


class BackUpAgents(AgentStep):
    name, title, button, done = "back_up_agents", "Back up agents", "Back up now", "Backup requested"
    permission = "test"
    bulk, pace = True, 60
    warnings = (
        "The agents go on during the backup. They may be slower for some minutes.",
        "If a backup is being made already, no second one is made. A stopped agent was backed up when it stopped.",
    )

    def among(self, chosen: QuerySet[Agent]) -> QuerySet[Agent]:
        return chosen.exclude(desired=Desired.DELETED)

    def take(self, row: Agent, *, given: Given) -> Logged | None:
        backup = by_owner.begin(row, actor=given.actor)
        words = f"backup {backup.name} requested: {given.reason}"
        timeline.note(row, words, reason=Reason.BACKUP, actor=given.actor, now=given.now)
        return None


class RestoreBackup(Step[Backup]):
    name, title, button, done = "restore_backup", "Restore a backup", "Restore", "Restore requested"
    model = Backup
    related = ("agent__user",)
    alone = True
    permission = "restore"
    material = ("agent", "status")
    warnings = (
        "The agent gets the data of this backup. The present data is backed up first.",
        "The pod is replaced: the work that it is doing now is interrupted. A stopped agent starts.",
    )

    def among(self, chosen: QuerySet[Backup]) -> QuerySet[Backup]:
        return chosen.filter(stage=Stage.DONE).exclude(agent__desired=Desired.DELETED)

    def shown(self, row: Backup) -> dict[str, str]:
        return {
            "backup": row.name,
            "agent": row.agent_id,
            "owner": str(row.agent.user),
            "status": row.agent.status,
            "taken": f"{row.taken_at:%Y-%m-%d %H:%M} UTC",
            "bytes": str(row.size),
        }

    def means(self, rows: list[Backup]) -> list[str]:
        return downtime([row.agent for row in rows])

    def take(self, row: Backup, *, given: Given) -> Logged | None:
        restoring.restore(row.agent, row, actor=given.actor, why=given.reason)
        return [(row.agent, f"Restored from {row.name}: {given.reason}")]
