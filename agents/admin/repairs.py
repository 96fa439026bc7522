"""The repairs of an agent's page, each with what it hits, and why it does nothing now."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.utils import timezone

from agents.admin.repair_steps import ResendEvents, RestartEngine, TalkTestAgent
from agents.admin.steps import DeleteAgents, PauseAgents, RebuildAgents, ResumeAgents
from agents.backups.admin_steps import BackUpAgents, RestoreBackup, UndoDeletion
from agents.backups.models import Backup
from agents.clusters.admin_steps import MoveAgents
from agents.models import Agent, Desired, Reason, Status
from config.admin_sections import RepairButton
from webhooks import delivery_log
from webhooks.models import Hook

WhyNot = Callable[[Agent], str]

DELETED = "It is deleted."
NO_BACKUPS = "This installation makes no backups."


def _unless_deleted(why_not: WhyNot) -> WhyNot:
    return lambda agent: DELETED if agent.desired == Desired.DELETED else why_not(agent)


def _may_start(agent: Agent) -> str:
    if not agent.user.is_active:
        return "Its owner is suspended: restore the account."
    return "" if agent.is_entitled(timezone.now()) else "Nobody pays for it: extend or grant its time first."


def _pause(agent: Agent) -> str:
    is_held = agent.operation == Reason.SUSPENDED
    return "" if agent.desired == Desired.RUNNING or is_held else "It is stopped already."


def _resume(agent: Agent) -> str:
    if agent.status == Status.FAILED:
        return "It has failed: rebuild it."
    if agent.status == Status.PROVISIONING:
        return _on_its_way(agent)
    if agent.status == Status.RUNNING and agent.desired == Desired.RUNNING:
        return "It runs."
    return _may_start(agent)


def _rebuild(agent: Agent) -> str:
    return _on_its_way(agent) if agent.status == Status.PROVISIONING else _may_start(agent)


def _restart(agent: Agent) -> str:
    runs = agent.status == Status.RUNNING and agent.desired == Desired.RUNNING
    return "" if runs else "It does not run."


def _on_its_way(agent: Agent) -> str:
    return "It is being stopped." if agent.desired == Desired.STOPPED else "It is being started."


def _back_up(agent: Agent) -> str:
    if not settings.BACKUP_STORE:
        return NO_BACKUPS
    if agent.desired == Desired.STOPPED:
        return "It is stopped. A backup was made when it stopped, if its pod could make one."
    return "It is being started." if agent.status == Status.PROVISIONING else ""


def _restore(agent: Agent) -> str:
    if not settings.BACKUP_STORE:
        return NO_BACKUPS
    return _rebuild(agent) or ("" if _newest(agent) else "It has no backup.")


def _newest(agent: Agent) -> str:
    """The id of the agent's newest backup; "" if it has none."""
    return str(Backup.objects.there().filter(agent=agent).values_list("pk", flat=True).first() or "")


def _move(agent: Agent) -> str:
    if settings.AGENT_RUNTIME != "kubernetes":
        return "This installation has no clusters."
    if agent.status == Status.PROVISIONING or agent.status != agent.desired:
        return "It is between two states: wait until it runs or has stopped."
    return ""


def _resend(agent: Agent) -> str:
    if not Hook.objects.filter(agent=agent).exists():
        return "It has no webhook."
    return "" if delivery_log.failed(agent, most=1) else "No delivery has failed lately."


def _test(agent: Agent) -> str:
    return "It is stopped." if agent.desired == Desired.STOPPED else ""


def _delete(agent: Agent) -> str:
    return DELETED if agent.desired == Desired.DELETED else ""


def _undo(agent: Agent) -> str:
    if agent.status != Status.DELETED:
        return "It is being deleted." if agent.desired == Desired.DELETED else "It is not deleted."
    return "" if _newest(agent) else "It has no backup any more."


REPAIRS = [
    RepairButton(step=PauseAgents(), model=Agent, about="Its pod stops.", why_not=_unless_deleted(_pause)),
    RepairButton(step=ResumeAgents(), model=Agent, about="Its pod starts.", why_not=_unless_deleted(_resume)),
    RepairButton(
        step=RebuildAgents(), model=Agent, about="A new pod, with its data.", why_not=_unless_deleted(_rebuild)
    ),
    RepairButton(step=RestartEngine(), model=Agent, about="Same pod, new engine.", why_not=_unless_deleted(_restart)),
    RepairButton(step=TalkTestAgent(), model=Agent, about="Finds the silent hop.", why_not=_unless_deleted(_test)),
    RepairButton(step=BackUpAgents(), model=Agent, about="Takes a backup.", why_not=_unless_deleted(_back_up)),
    RepairButton(
        step=RestoreBackup(),
        model=Backup,
        label="Restore backup",
        about="Its newest backup; older ones are below.",
        why_not=_unless_deleted(_restore),
        row_id=_newest,
    ),
    RepairButton(step=MoveAgents(), model=Agent, about="To another cluster.", why_not=_unless_deleted(_move)),
    RepairButton(step=ResendEvents(), model=Agent, about="Failed deliveries.", why_not=_unless_deleted(_resend)),
    RepairButton(step=DeleteAgents(), model=Agent, label="Delete", about="Pod and data, for good.", why_not=_delete),
    RepairButton(
        step=UndoDeletion(), model=Agent, label="Undo delete", about="A new agent, from the last backup.", why_not=_undo
    ),
]
