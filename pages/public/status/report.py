"""The content of the status page and its feed: components now and over 90 days, incidents with their updates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext

from pages.public.status.words import BACKGROUND, COMPONENTS, STAGES, STATES
from status import components, incidents, loops
from status.components import Component, Health, Platform
from status.incidents import HISTORY_DAYS, Day
from status.models import Incident, IncidentUpdate

PAST_DAYS = 14  # how long a resolved incident stays on the page; the feed keeps it longer


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentRow:
    name: Promise
    state: Health
    says: Promise
    late: list[str]  # the ids of late loops; only for the background work
    days: list[Day]
    summary: str  # the text of the bars


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownUpdate:
    at: datetime
    stage: Promise
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownIncident:
    id: str
    title: str
    started_at: datetime
    resolved_at: datetime | None
    changed_at: datetime
    stage: Promise
    hurt: list[Promise]
    told: list[ShownUpdate]  # newest first


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformReport:
    platform: Platform
    incidents: list[Incident] | None  # None: the database has not answered yet
    at: datetime


def now(*, at: datetime) -> PlatformReport:
    """The report of this moment. Never raises, and never waits longer than a check may take."""
    platform = components.platform(now=at)
    return PlatformReport(platform=platform, incidents=components.last_known_incidents(), at=at)


def lines(report: PlatformReport) -> list[ComponentRow]:
    """The components in the order of the page. All periodic jobs are one component."""
    by_id = {one.id: [one] for one in report.platform.components if one.id in COMPONENTS}
    by_id[BACKGROUND] = [one for one in report.platform.components if one.id in loops.PERIODS]
    return [_line(name, by_id.get(name, []), report) for name in COMPONENTS]


def shown_incidents(report: PlatformReport) -> list[ShownIncident]:
    """All incidents that are read, newest first."""
    return [_shown(one) for one in report.incidents or ()]


def still_open(told: Sequence[ShownIncident]) -> list[ShownIncident]:
    return [one for one in told if one.resolved_at is None]


def lately_over(told: Sequence[ShownIncident], *, at: datetime) -> list[ShownIncident]:
    return [one for one in told if one.resolved_at and one.resolved_at > at - timedelta(days=PAST_DAYS)]


def _line(name: str, parts: Sequence[Component], report: PlatformReport) -> ComponentRow:
    ids = {one.id for one in parts}
    days = incidents.history(ids, report.incidents, now=report.at) if report.incidents is not None else []
    state = _worst(parts)
    return ComponentRow(
        name=COMPONENTS[name],
        state=state,
        says=STATES[state],
        late=[one.id for one in parts if one.status != Health.OK] if name == BACKGROUND else [],
        days=days,
        summary=_summary(days),
    )


def _worst(parts: Sequence[Component]) -> Health:
    states = {one.status for one in parts}
    return next((state for state in (Health.DOWN, Health.DEGRADED) if state in states), Health.OK)


def _summary(days: Sequence[Day]) -> str:
    hurt = sum(day.hurt is True for day in days)
    if not hurt:
        none = ngettext("No incident in the last %(days)d day", "No incident in the last %(days)d days", HISTORY_DAYS)
        return none % {"days": HISTORY_DAYS}
    text = ngettext(
        "An incident on %(count)d of the last %(days)d days", "Incidents on %(count)d of the last %(days)d days", hurt
    )
    return text % {"count": hurt, "days": HISTORY_DAYS}


def _shown(incident: Incident) -> ShownIncident:
    told = [ShownUpdate(at=one.at, stage=STAGES[one.status], text=_text(one)) for one in incident.updates.all()]
    return ShownIncident(
        id=incident.id,
        title=gettext(incident.title) if incident.opened_for else incident.title,
        started_at=incident.started_at,
        resolved_at=incident.resolved_at,
        changed_at=max(incident.resolved_at or incident.started_at, *(one.at for one in told), incident.started_at),
        stage=STAGES[incident.status],
        hurt=_hurt(incident),
        told=told,
    )


def _text(update: IncidentUpdate) -> str:
    """What was told. Our own sentences are in the reader's language, an operator's in the operator's."""
    return gettext(update.text) if update.automatic else update.text


def _hurt(incident: Incident) -> list[Promise]:
    """The page's names of the incident's components, without repetitions."""
    ids = [BACKGROUND if one in loops.PERIODS else one for one in incident.components]
    return [COMPONENTS[one] for one in dict.fromkeys(ids) if one in COMPONENTS]
