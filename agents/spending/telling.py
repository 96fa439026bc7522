"""What an owner is told about limits: a mail and a line in the log of events at 80 and at 100 percent, once each for a
day or a month. A webhook gets nothing: the interface's set of sent events is closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum

from django.db import transaction

from accounts import mail_choices
from agents.models import Agent, Desired, Spending
from agents.spending import spent
from agents.spending.models import month_of
from config import outgoing_mail
from webhooks import events
from webhooks.event_types import LoggedType

NEAR = 80  # percent
REACHED = 100


class LimitPeriod(StrEnum):
    DAY = "day"
    MONTH = "month"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitState:
    """How far one limit in USD is used up."""

    period: LimitPeriod
    begins: date
    ends_at: datetime
    usd: Decimal
    limit: Decimal

    @property
    def percent(self) -> int:
        return int(self.usd * 100 / self.limit)

    @property
    def level(self) -> int:
        """0, 80 or 100."""
        return max((level for level in (NEAR, REACHED) if self.percent >= level), default=0)


def states(agent: Agent, limits: Spending, *, now: datetime) -> list[LimitState]:
    """The limits in USD that the agent has, that of the month first: it holds longer."""
    today = now.astimezone(UTC).date()
    usd_today, usd_month = spent.sums([agent.pk], today=today).get(agent.pk, (Decimal(0), Decimal(0)))
    found = []
    if limits.month_usd:
        begins = month_of(today)
        ends = month_of(begins + timedelta(days=31))
        found.append(_state(LimitPeriod.MONTH, begins, ends, usd_month, limits.month_usd))
    if limits.day_usd:
        found.append(_state(LimitPeriod.DAY, today, today + timedelta(days=1), usd_today, limits.day_usd))
    return found


@transaction.atomic
def tell(asked: Agent, *, now: datetime) -> None:
    """Tell the owner what is nearly or fully used up, unless they were told. Running twice is harmless."""
    if not Spending.objects.with_money().filter(pk=asked.pk).exists():
        return
    agent = Agent.objects.select_related("user").lock(asked.pk)
    limits = Spending.objects.select_for_update().get(pk=agent.pk)
    if agent.desired == Desired.DELETED:
        return
    for state in states(agent, limits, now=now):
        begins, level = limits.told.get(state.period, ["", 0])
        known = level if begins == state.begins.isoformat() else 0
        if state.level > known:
            limits.told[state.period] = [state.begins.isoformat(), state.level]
            _tell(agent, state, now=now)
    limits.save(update_fields=["told"])


def _state(period: LimitPeriod, begins: date, ends: date, usd: Decimal, limit: Decimal) -> LimitState:
    ends_at = datetime.combine(ends, time(), UTC)
    return LimitState(period=period, begins=begins, ends_at=ends_at, usd=usd, limit=limit)


def _tell(agent: Agent, state: LimitState, *, now: datetime) -> None:
    is_reached = state.level == REACHED
    kind = LoggedType.LIMIT_REACHED if is_reached else LoggedType.LIMIT_NEAR
    amounts = {"period": str(state.period), "usd": float(round(state.usd, 4)), "limitUsd": float(state.limit)}
    events.log(agent, kind, {**amounts, "endsAt": state.ends_at.isoformat().replace("+00:00", "Z")}, now=now)
    if not agent.user.is_active:
        return
    mail = outgoing_mail.rendered(
        "spending_reached" if is_reached else "spending_near",
        lang=mail_choices.language(agent.user, otherwise=agent.lang),
        name=agent.name,
        agent_id=agent.pk,
        spent=f"{state.usd:.2f}",
        limit=f"{state.limit:.2f}",
        until=state.ends_at,
    )
    outgoing_mail.write(agent.user_id, mail)
