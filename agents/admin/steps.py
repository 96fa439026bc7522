"""Operators' actions that take something away from agents or accounts. Each has its own page and needs a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from django.db.models import Count, Q, QuerySet

from accounts.models import User
from accounts.roles import ASSIGN
from agents import suspension, timeline
from agents.models import Agent, Desired, Reason, Status
from agents.running import lifecycle
from config.admin_steps import Given, Logged, Step
from config.errors import Forbidden


class AgentStep(Step[Agent]):
    model = Agent
    related = ("user",)
    material: ClassVar[tuple[str, ...]] = ("owner", "status", "wanted", "paid", "may run until")

    def held(self, row_id: str) -> Agent | None:
        """Lock the agent's row as the life cycle does."""
        if self.in_transaction:
            Agent.objects.locked().filter(pk=row_id).first()
        return super().held(row_id)

    def shown(self, row: Agent) -> dict[str, str]:
        return {
            "agent": row.pk,
            "name": row.name,
            "owner": str(row.user),
            "tier": row.tier,
            "status": row.status,
            "wanted": row.desired,
            "paid": "yes" if row.paid else "no",
            "may run until": f"{row.entitled_until:%Y-%m-%d %H:%M} UTC" if row.entitled_until else "no end",
        }


def downtime(rows: list[Agent]) -> list[str]:
    """How long the agent will be away, from its own last start. For one agent only, to ask once."""
    if len(rows) != 1:
        return []
    took = timeline.last_start(rows[0])
    if took is None:
        return ["Downtime: unknown, because it has not started lately. A start that takes ten minutes fails."]
    return [f"Downtime: about {max(1, round(took.total_seconds()))} seconds, as long as its last start took."]


class PauseAgents(AgentStep):
    name, title, button, done = "pause_agents", "Pause agents", "Pause", "Stop requested"
    permission = "pause"
    bulk = True
    warnings = (
        "The pod stops, and the agent answers nobody until it is resumed. Its data is kept, and its free or paid time"
        " goes on.",
        "The owner sees that the operator paused the agent, but not why, and can resume it. To lock somebody out,"
        " suspend the account.",
    )

    def among(self, chosen: QuerySet[Agent]) -> QuerySet[Agent]:
        return chosen.filter(lifecycle.pausable(Reason.OPERATOR))

    def take(self, row: Agent, *, given: Given) -> Logged | None:
        lifecycle.pause(row, reason=Reason.OPERATOR, actor=given.actor, why=given.reason)
        return None


class RebuildAgents(AgentStep):
    name, title, button, done = "rebuild_agents", "Rebuild agents", "Rebuild", "Rebuild requested"
    bulk, pace = True, 60
    warnings = (
        "The pod is replaced: the work that it is doing now is interrupted. Its data is kept.",
        "Lost or damaged data is restored from the newest backup. Without a backup the agent begins with an empty"
        " disk.",
        "The agent gets the present soul of its persona. A stopped agent starts.",
    )

    def among(self, chosen: QuerySet[Agent]) -> QuerySet[Agent]:
        return chosen.exclude(desired=Desired.DELETED)

    def means(self, rows: list[Agent]) -> list[str]:
        return downtime(rows)

    def take(self, row: Agent, *, given: Given) -> Logged | None:
        lifecycle.rebuild(row, actor=given.actor, why=given.reason)
        return None


class ResumeAgents(AgentStep):
    name, title, button, done = "resume_agents", "Resume agents", "Resume", "Start requested"
    permission = "pause"
    bulk, pace = True, 60
    warnings = ("The pod starts with its data as it was. The quota's measurements begin anew.",)

    def among(self, chosen: QuerySet[Agent]) -> QuerySet[Agent]:
        return chosen.filter(Q(desired=Desired.STOPPED) | Q(status=Status.STOPPED)).exclude(desired=Desired.DELETED)

    def means(self, rows: list[Agent]) -> list[str]:
        return downtime(rows)

    def take(self, row: Agent, *, given: Given) -> Logged | None:
        lifecycle.resume(row, actor=given.actor, why=given.reason)
        return None


class DeleteAgents(AgentStep):
    name, title, button, done = "delete_agents", "Delete agents", "Delete for good", "Deletion requested"
    permission = "remove"
    warnings = (
        "The pod and all its data are removed. This cannot be undone.",
        "This sends no money back: first refund what is paid (Terms), and end a card's subscription at its shop.",
    )
    counted = True
    losses: ClassVar[list[Callable[[list[Agent]], list[str]]]] = []  # other apps add what else is lost

    def among(self, chosen: QuerySet[Agent]) -> QuerySet[Agent]:
        return chosen.exclude(desired=Desired.DELETED)

    def means(self, rows: list[Agent]) -> list[str]:
        return [sentence for told in self.losses for sentence in told(rows)]

    def take(self, row: Agent, *, given: Given) -> Logged | None:
        lifecycle.delete(row, actor=given.actor, reason=Reason.OPERATOR, why=given.reason)
        return None


class NotYoursToSuspend(Forbidden):
    def __init__(self, user: User, why: str) -> None:
        super().__init__(f"{user}: {why}")


class SuspendAccounts(Step[User]):
    name, title, button, done = "suspend_accounts", "Suspend accounts", "Suspend", "Suspended"
    model = User
    material = ("account", "active")
    warnings = (
        "Requests with the account's keys and sessions get 401 from now on, and all its agents stop. Their data is"
        " kept.",
        "Free and paid time is on hold until the account is restored.",
    )

    def among(self, chosen: QuerySet[User]) -> QuerySet[User]:
        return chosen.filter(is_active=True)

    def shown(self, row: User) -> dict[str, str]:
        return {
            "id": row.pk,
            "account": row.email,
            "active": "yes" if row.is_active else "no",
            "agents": str(getattr(row, "live_agents", 0)),
            "paid agents": str(getattr(row, "paid_agents", 0)),
            "staff": "yes" if row.is_staff else "no",
        }

    def _all(self) -> QuerySet[User]:
        live = ~Q(agents__desired=Desired.DELETED)
        paid = live & Q(agents__paid=True)
        return User.objects.annotate(live_agents=Count("agents", filter=live), paid_agents=Count("agents", filter=paid))

    def take(self, row: User, *, given: Given) -> Logged | None:
        if refusal := _refusal(given.user, row):
            raise NotYoursToSuspend(row, refusal)
        suspension.suspend(row, reason=given.reason, actor=given.actor)
        return None


class RestoreAccounts(SuspendAccounts):
    name, title, button, done = "restore_accounts", "Restore accounts", "Restore", "Restored"
    warnings = (
        "Keys and sessions are valid again, and the agents that the suspension stopped start, if they are paid for or"
        " free. No other agent starts.",
        "Free and paid time goes on, longer by the length of the suspension.",
    )

    def among(self, chosen: QuerySet[User]) -> QuerySet[User]:
        return chosen.filter(is_active=False, closed_at=None)

    def take(self, row: User, *, given: Given) -> Logged | None:
        if refusal := stands_above(given.user, row):
            raise NotYoursToSuspend(row, refusal)
        suspension.restore(row, actor=given.actor)
        return None


def _refusal(operator: Any, user: User) -> str:
    """Why this operator may not suspend this account; "" if allowed."""
    if operator.pk == user.pk:
        return "you cannot suspend your own account"
    return stands_above(operator, user)


def stands_above(operator: Any, user: User) -> str:
    """Why this operator may neither suspend nor restore this account because of the account's rights; "" if none."""
    if user.is_superuser and not operator.is_superuser:
        return "only superusers can suspend a superuser"
    if user.is_staff and not operator.has_perm(ASSIGN):
        return "only owners can suspend or restore an operator"
    return ""
