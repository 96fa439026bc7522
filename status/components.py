"""The platform's health, computed from its components."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from django.utils import timezone

from config.errors import Unavailable
from status import checks, loops
from status.bounded import BoundedCheck, CheckOutcome
from status.models import Incident


class Health(StrEnum):
    OK = "ok"
    DEGRADED = "degraded"
    DOWN = "down"


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    id: str
    name: str
    status: Health
    latency_ms: int | None = None
    checked_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    status: Health
    components: list[Component]
    catalog_updated_at: datetime | None


DATABASE = BoundedCheck("database", checks.database)
CACHE = BoundedCheck("cache", checks.cache)
QUEUE = BoundedCheck("queue", checks.queue)
RUNTIME = BoundedCheck("runtime", checks.runtime)

# id: (name, check). Without the database nothing works, so the platform is down. Any other failure only degrades it.
DEPENDENCIES: dict[str, tuple[str, BoundedCheck[checks.Records] | BoundedCheck[None]]] = {
    "database": ("Database", DATABASE),
    "cache": ("Cache", CACHE),
    "queue": ("Task queue", QUEUE),
    "runtime": ("Pod runtime", RUNTIME),
}

MAIL = "mail"
PRICES = "models"
SILENT_AFTER = timedelta(seconds=90)
BACKUPS = "backups"
DRILLS = "drills"
IDS = (*DEPENDENCIES, MAIL, PRICES, BACKUPS, DRILLS, *loops.PERIODS)

_expected_since = timezone.now()
_last_records: checks.Records | None = None


def platform(*, now: datetime) -> Platform:
    """The state of the whole platform. Never raises, and never waits longer than a check may take."""
    components, records = measured(now=now)
    if records:
        components = _with_incidents(components, records.incidents)
    return Platform(
        status=_overall(components),
        components=components,
        catalog_updated_at=records.catalog_updated_at if records else None,
    )


def measured(*, now: datetime) -> tuple[list[Component], checks.Records | None]:
    """The components as the checks find them, whatever incidents say, and what the database returned last."""
    outcomes = _outcomes()
    records = _records()
    components = [_dependency(name, outcome) for name, outcome in outcomes.items()]
    components = [_watched(one, records, now=now) if one.id == "runtime" else one for one in components]
    components += [_mail(records), _prices(records), _backups(records, now=now), _drills(records, now=now)]
    components += [_loop(name, records, now=now) for name in loops.PERIODS]
    return components, records


def readiness() -> dict[str, Health]:
    """The state of the dependencies of a web process. Raises Unavailable if the process cannot serve."""
    outcomes = _outcomes()
    if not outcomes["database"].ok:
        raise Unavailable("not ready: the database does not answer; details are in GET /status")
    return {name: Health.OK if outcome.ok else Health.DOWN for name, outcome in outcomes.items()}


def incidents() -> list[Incident]:
    """The newest incidents, open and resolved. Raises Unavailable."""
    records = DATABASE.outcome().value
    if records is None:
        raise Unavailable("the database is not available: try again")
    return records.incidents


def last_known_incidents() -> list[Incident] | None:
    """The newest incidents. While the database is down: those it returned last, or None if it has never answered."""
    records = _records()
    return records.incidents if records else None


def _outcomes() -> dict[str, CheckOutcome[checks.Records] | CheckOutcome[None]]:
    for _, check in DEPENDENCIES.values():
        check.start()  # start all first, so that their waits do not add up
    return {name: check.outcome() for name, (_, check) in DEPENDENCIES.items()}


def _records() -> checks.Records | None:
    """What the database returned last, even while it is down. The loops then become late as time passes."""
    global _last_records  # noqa: PLW0603  # one value per process, replaced as a whole
    _last_records = DATABASE.outcome().value or _last_records
    return _last_records


def _with_incidents(components: list[Component], incidents: list[Incident]) -> list[Component]:
    """The same components. Those that an open incident names are degraded at best."""
    hurt = {name for incident in incidents if incident.resolved_at is None for name in incident.components}
    return [
        replace(one, status=Health.DEGRADED) if one.id in hurt and one.status == Health.OK else one
        for one in components
    ]


def _dependency(id: str, outcome: CheckOutcome[checks.Records] | CheckOutcome[None]) -> Component:
    return Component(
        id=id,
        name=DEPENDENCIES[id][0],
        status=Health.OK if outcome.ok else Health.DOWN,
        latency_ms=outcome.latency_ms,
        checked_at=outcome.checked_at,
    )


def _watched(pods: Component, records: checks.Records | None, *, now: datetime) -> Component:
    """The state of the pods in clusters.

    Only the observer sees them, so a silent observer means that they are unknown.
    """
    silent = silent_clusters(records, now=now) if records else 0
    if not records or not silent or pods.status == Health.DOWN:
        return pods
    return replace(pods, status=Health.DOWN if silent == len(records.clusters) else Health.DEGRADED)


def silent_clusters(records: checks.Records, *, now: datetime) -> int:
    """How many clusters the observer has not seen for too long."""
    return sum(seen is None or now - seen > SILENT_AFTER for seen in records.clusters)


def _mail(records: checks.Records | None) -> Component:
    """Mail, as the last sent mail showed: the status itself never asks a mail server."""
    failed_at = records.mail_failed_at if records else None
    return Component(id=MAIL, name="Mail", status=Health.DOWN if failed_at else Health.OK, checked_at=failed_at)


def _prices(records: checks.Records | None) -> Component:
    """Model prices. Their age is shown but not judged: nothing fails because of it."""
    checked_at = records.prices_checked_at if records else None
    return Component(id=PRICES, name="Model prices", status=Health.OK, checked_at=checked_at)


def _backups(records: checks.Records | None, *, now: datetime) -> Component:
    """Whether backups come when they are due, and how many agents' backups fail.

    Missing backups are shown, not judged.
    """
    known = records.backups if records else None
    name = "Backups"
    if known and not known.are_made:
        name = "Backups (off: BACKUP_STORE names no store)"
    elif known and known.oldest:
        name = f"Backups ({known.old} too old, the oldest of {known.oldest:%Y-%m-%d %H:%M} UTC)"
    return Component(id=BACKUPS, name=name, status=_ok_if(known is None or known.are_well(now)))


def _drills(records: checks.Records | None, *, now: datetime) -> Component:
    """Whether test restores of backups succeed, and when the last one was made."""
    known = records.drills if records else None
    well = known is None or not records or not records.backups.are_made or known.are_well(now)
    return Component(
        id=DRILLS,
        name=f"Restore drills ({known.failed} of {known.held} failed)" if known and known.failed else "Restore drills",
        status=_ok_if(well),
        checked_at=known.last if known else None,
    )


def _loop(name: str, records: checks.Records | None, *, now: datetime) -> Component:
    last = records.loops.get(name) if records else None
    late = is_late(name, last, now=now)
    return Component(id=name, name=f"Loop {name}", status=_ok_if(not late), checked_at=last)


def _ok_if(well: bool) -> Health:
    return Health.OK if well else Health.DEGRADED


def is_late(name: str, last: datetime | None, *, now: datetime) -> bool:
    """Whether the loop is late. One that never succeeded is expected since this process started."""
    return loops.is_late(name, last=last or _expected_since, now=now)


def _overall(components: list[Component]) -> Health:
    if any(component.id == "database" and component.status == Health.DOWN for component in components):
        return Health.DOWN
    return _ok_if(all(component.status == Health.OK for component in components))
