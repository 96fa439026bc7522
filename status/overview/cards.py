"""The cards of the overview: each shows one daily fact, with the list of the console that stands behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from urllib.parse import urlencode

from django.urls import reverse

from status.overview.facts import SHOWN_DAYS, FactHistory
from status.overview.measures import FAILED_BACKUP, FAILED_DRILL, OLD_BACKUP, SOON, day_of

# Numbers whose rows are in another list than the card's, or behind a filter that is no column.
ELSEWHERE = {
    ("backups", OLD_BACKUP): ("agents.agent", {"question": "backup-overdue"}),
    ("backups", FAILED_BACKUP): ("agents.repository", {"backup": "failed"}),
    ("backups", FAILED_DRILL): ("agents.repository", {"drill": "failed"}),
    ("overdue_seconds", "agents"): ("agents.agent", {}),
    ("overdue_seconds", "terms"): ("billing.agentterm", {}),
    ("overdue_seconds", "deliveries"): ("webhooks.delivery", {"state__exact": "pending"}),
    ("overdue_seconds", "codes"): ("accounts.signincode", {}),
    ("overdue_seconds", "letters"): ("accounts.letter", {}),
    ("overdue_seconds", "backups"): ("agents.agent", {"question": "backup-overdue"}),
}
WIDTH, HEIGHT = 120, 28  # of a plot, in its own units


@dataclass(frozen=True, slots=True, kw_only=True)
class FactCard:
    """`list_` is `app.model`. `filter_` is the field of the list that a key of the fact selects."""

    title: str
    fact: str
    list_: str
    filter_: str = ""
    unit: str = ""
    is_sum: bool = False  # a sum of each day, as opposed to a level
    must_be_zero: bool = False
    is_largest: bool = False  # the number is the largest of the parts, not their sum
    without: str = ""  # what is shown instead of 0 while there is no figure


GROUPS: dict[str, tuple[FactCard, ...]] = {
    "Needs attention": (
        FactCard(title="Unpaid but running", fact="unpaid_but_running", list_="billing.agentterm", must_be_zero=True),
        FactCard(title="Paid but stopped", fact="paid_but_stopped", list_="billing.agentterm", must_be_zero=True),
        FactCard(title="Failed agents by cause", fact="failures_by_cause", list_="agents.agent", filter_="cause"),
        FactCard(title="Money that waits for a decision", fact="money_waiting", list_="billing.books"),
        FactCard(title="Personas in review", fact="reviews", list_="catalog.review"),
        FactCard(title="Backups", fact="backups", list_="agents.repository"),
        FactCard(title="Hours since the last drill", fact="drill_hours", list_="agents.repository", without="none"),
    ),
    "Agents": (
        FactCard(title="By status", fact="agents_by_status", list_="agents.agent", filter_="status"),
        FactCard(title="By engine", fact="agents_by_engine", list_="agents.agent", filter_="engine"),
        FactCard(title="By tier", fact="agents_by_tier", list_="agents.agent", filter_="tier"),
        FactCard(title="Trials that end in three days", fact="trials_ending", list_="billing.agentterm"),
        FactCard(title="New agents", fact="new_agents", list_="agents.agent", is_sum=True),
        FactCard(title="New people", fact="new_people", list_="accounts.user", is_sum=True),
    ),
    "Money": (
        FactCard(
            title="Received", fact="received_usd", list_="billing.payment", filter_="provider", unit="USD", is_sum=True
        ),
        FactCard(
            title="Returned", fact="returned_usd", list_="billing.payment", filter_="provider", unit="USD", is_sum=True
        ),
    ),
    "Work": (
        FactCard(title="Tasks in queues", fact="queues", list_="status.loop"),
        FactCard(title="Oldest due work", fact="overdue_seconds", list_="status.loop", unit="s", is_largest=True),
        FactCard(title="Deliveries that wait", fact="deliveries_waiting", list_="webhooks.delivery"),
        FactCard(
            title="Deliveries that ended",
            fact="deliveries_ended",
            list_="webhooks.delivery",
            filter_="state",
            is_sum=True,
        ),
        FactCard(title="Free places in clusters", fact="free_places", list_="agents.cluster", filter_="name"),
    ),
}


@dataclass(frozen=True, slots=True)
class ShownCard:
    """A card as the page shows it. `points` draws its plot; `parts` are key, number and link."""

    card: FactCard
    number: str
    month: str
    link: str
    parts: list[tuple[str, str, str]]
    points: str
    plot_says: str

    @property
    def is_wrong(self) -> bool:
        return self.card.must_be_zero and self.number != "0"


def shown(card: FactCard, history: FactHistory, *, now: datetime) -> ShownCard:
    days = [day_of(now).date - timedelta(days=back) for back in reversed(range(SHOWN_DAYS))]
    by_day = history.largest if card.is_largest else history.days
    values = [by_day.get(day) for day in days]
    has_parts = card.filter_ or len(history.today) > 1
    by_size = sorted(history.today.items(), key=lambda item: (-item[1], item[0]))
    keys = [(key, value) for key, value in by_size if value and has_parts]
    value = max(history.today.values(), default=Decimal(0)) if card.is_largest else history.total
    return ShownCard(
        card=card,
        number=card.without if card.without and not history.today else _number(value, card),
        month=_number(_of_month(history.days, now), card) if card.is_sum else "",
        link=_link(card, "", now),
        parts=[(key or "unknown", _number(value, card), _link(card, key, now)) for key, value in keys],
        points=_points(values),
        plot_says=_plot_says(values, card),
    )


def _link(card: FactCard, key: str, now: datetime) -> str:
    """The list that shows what was counted, with its filters."""
    list_, wanted = ELSEWHERE.get((card.fact, key)) or (card.list_, _filters(card, key, now))
    place = reverse(f"admin:{list_.replace('.', '_')}_changelist")
    return f"{place}?{urlencode(wanted)}" if wanted else place


def _filters(card: FactCard, key: str, now: datetime) -> dict[str, str]:
    wanted: dict[str, str] = {}
    today = day_of(now)
    if card.filter_ and key:
        wanted[f"{card.filter_}__exact"] = key
    match card.fact:
        case "unpaid_but_running" | "paid_but_stopped":
            wanted["contradiction"] = card.fact
        case "deliveries_waiting":
            wanted["state__exact"] = "pending"
        case "failures_by_cause":
            wanted["status__exact"] = "failed"
        case "trials_ending":
            wanted |= {"paid__exact": "0", "entitled_until__gte": now.isoformat()}
            wanted["entitled_until__lt"] = (now + SOON).isoformat()
        case "new_agents" | "new_people":
            wanted["created_at__gte"] = today.first.isoformat()
        case "received_usd" | "returned_usd":
            wanted["at__gte"] = today.first.isoformat()
    return wanted


def _number(value: Decimal, card: FactCard) -> str:
    return f"{value:,.2f}" if card.unit == "USD" else f"{value:,.0f}"


def _of_month(days: Mapping[date, Decimal], now: datetime) -> Decimal:
    first = day_of(now).date.replace(day=1)
    return sum((value for day, value in days.items() if day >= first), Decimal(0))


def _points(values: list[Decimal | None]) -> str:
    """The points of a line from the oldest day to today, without days that were not measured. Empty for one day."""
    highest = max((value for value in values if value is not None), default=Decimal(0)) or Decimal(1)
    step = WIDTH / (len(values) - 1)
    known = [(index, value) for index, value in enumerate(values) if value is not None]
    if len(known) < 2:
        return ""
    return " ".join(
        f"{index * step:.1f},{HEIGHT - 2 - float(value / highest) * (HEIGHT - 4):.1f}" for index, value in known
    )


def _plot_says(values: list[Decimal | None], card: FactCard) -> str:
    known = [value for value in values if value is not None] or [Decimal(0)]
    return f"{len(known)} days, lowest {_number(min(known), card)}, highest {_number(max(known), card)}"
