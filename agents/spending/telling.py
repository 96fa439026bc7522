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
from accounts.models import ApiKey
from agents.models import AccountSpending, Agent, Desired, Spending
from agents.spending import spent
from agents.spending.models import has_money, month_of
from agents.spending.spent import NOTHING, DayAndMonth
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

    @property
    def is_reached(self) -> bool:
        return self.level == REACHED


def states(limits: Spending | AccountSpending | ApiKey, used: DayAndMonth, *, now: datetime) -> list[LimitState]:
    """The limits in USD, that of the month first: it holds longer. `used` is the USD of today and of this month."""
    today = now.astimezone(UTC).date()
    usd_today, usd_month = used
    found = []
    if limits.month_usd:
        begins = month_of(today)
        ends = month_of(begins + timedelta(days=31))
        found.append(_state(LimitPeriod.MONTH, begins, ends, usd_month, limits.month_usd))
    if limits.day_usd:
        found.append(_state(LimitPeriod.DAY, today, today + timedelta(days=1), usd_today, limits.day_usd))
    return found


def states_of(agent: Agent, limits: Spending, *, now: datetime) -> list[LimitState]:
    """The limits in USD that the agent has."""
    used = spent.sums([agent.pk], today=now.astimezone(UTC).date())
    return states(limits, used.get(agent.pk, NOTHING), now=now)


def states_of_account(user_id: str, limits: AccountSpending, *, now: datetime) -> list[LimitState]:
    """The limits in USD that the account has for all its agents together."""
    used = spent.sums_of_accounts([user_id], today=now.astimezone(UTC).date())
    return states(limits, used.get(user_id, NOTHING), now=now)


def tell(asked: Agent, *, now: datetime) -> None:
    """Tell the owner what is nearly or fully used up, unless they were told. Running twice is harmless.

    Of the agent's own limits, of those of its account, and of those of the API keys that have started its turns.
    """
    if Spending.objects.with_money().filter(pk=asked.pk).exists():
        _tell_of_agent(asked.pk, now=now)
    if AccountSpending.objects.filter(has_money(), pk=asked.user_id).exists():
        _tell_of_account(asked.pk, now=now)
    month = month_of(now.astimezone(UTC).date())
    limited = ApiKey.objects.filter(has_money(), model_usage__agent=asked.pk, model_usage__day__gte=month)
    for key_id in limited.values_list("pk", flat=True).distinct().order_by("pk"):
        _tell_of_key(asked.pk, key_id, now=now)


@transaction.atomic
def _tell_of_agent(agent_id: str, *, now: datetime) -> None:
    agent = Agent.objects.select_related("user").lock(agent_id)
    limits = Spending.objects.select_for_update().get(pk=agent.pk)
    if agent.desired == Desired.DELETED:
        return
    for state in _untold(limits, states_of(agent, limits, now=now)):
        values = {"name": agent.name, "agent_id": agent.pk}
        _tell(agent, state, "spending_reached" if state.is_reached else "spending_near", values, now=now)


@transaction.atomic
def _tell_of_account(agent_id: str, *, now: datetime) -> None:
    """The event is in the log of the agent whose calls were read last. It comes even if that agent is being deleted."""
    agent = Agent.objects.select_related("user").lock(agent_id)
    limits = AccountSpending.objects.select_for_update().get(pk=agent.user_id)
    for state in _untold(limits, states_of_account(agent.user_id, limits, now=now)):
        mail = "account_spending_reached" if state.is_reached else "account_spending_near"
        _tell(agent, state, mail, {}, now=now, of="account")


@transaction.atomic
def _tell_of_key(agent_id: str, key_id: str, *, now: datetime) -> None:
    """The event is in the log of the agent whose calls were read last, as for an account."""
    agent = Agent.objects.select_related("user").lock(agent_id)
    key = ApiKey.objects.select_for_update(no_key=True).get(pk=key_id)
    used = spent.sums_of_keys([key.pk], today=now.astimezone(UTC).date())
    for state in _untold(key, states(key, used.get(key.pk, NOTHING), now=now)):
        mail = "key_spending_reached" if state.is_reached else "key_spending_near"
        _tell(agent, state, mail, {"key_name": key.name, "key_id": key.pk}, now=now, of="key")


def _untold(limits: Spending | AccountSpending | ApiKey, found: list[LimitState]) -> list[LimitState]:
    """Those that the owner was not told about. They are noted as told."""
    news = []
    for state in found:
        begins, level = limits.told.get(state.period, ["", 0])
        known = level if begins == state.begins.isoformat() else 0
        if state.level > known:
            limits.told[state.period] = [state.begins.isoformat(), state.level]
            news.append(state)
    if news:
        limits.save(update_fields=["told"])
    return news


def _state(period: LimitPeriod, begins: date, ends: date, usd: Decimal, limit: Decimal) -> LimitState:
    ends_at = datetime.combine(ends, time(), UTC)
    return LimitState(period=period, begins=begins, ends_at=ends_at, usd=usd, limit=limit)


def _tell(
    agent: Agent, state: LimitState, mail: str, values: dict[str, str], *, now: datetime, of: str = "agent"
) -> None:
    kind = LoggedType.LIMIT_REACHED if state.is_reached else LoggedType.LIMIT_NEAR
    amounts = {"period": str(state.period), "usd": float(round(state.usd, 4)), "limitUsd": float(state.limit)}
    ends_at = state.ends_at.isoformat().replace("+00:00", "Z")
    named = {"keyId": values["key_id"], "keyName": values["key_name"]} if of == "key" else {}
    events.log(agent, kind, {"of": of, **named, **amounts, "endsAt": ends_at}, now=now)
    if not agent.user.is_active:
        return
    rendered = outgoing_mail.rendered(
        mail,
        lang=mail_choices.language(agent.user, otherwise=agent.lang),
        rich=None,
        spent=f"{state.usd:.2f}",
        limit=f"{state.limit:.2f}",
        until=state.ends_at,
        **values,
    )
    outgoing_mail.write(agent.user_id, rendered)
