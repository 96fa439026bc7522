"""Incidents that open and close by themselves, by the stored samples of more than five minutes.

Operators come first. An incident that an operator wrote or updated is never closed here, and what they cover is not
opened a second time. A part that goes down again within an hour reopens its last incident, so that flapping makes one.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q

from status.models import HealthSample, Incident, IncidentStatus, IncidentUpdate
from status.watch.parts import AGAIN, OPENED, PARTS, WORKS, WatchedPart
from status.watch.samples import EVERY

DECIDES = 11  # samples: five minutes lie between the first and the last
ENOUGH = DECIDES - 1  # one may be missing
SAME = timedelta(hours=1)  # a part that goes down again within this time has the same incident
MOST_UPDATES = 50  # of one incident: after that, flapping is not told any more


def look(at: datetime, *, now: datetime) -> None:
    """Open or close what the samples up to `at` decide. Running twice, also at once, changes nothing more."""
    samples = list(
        HealthSample.objects.filter(at__gt=at - DECIDES * EVERY, at__lte=at).order_by("at").values_list("at", "down")
    )
    if len(samples) < ENOUGH:
        return  # nobody looked for a while: nothing is known
    for part in PARTS.values():
        if all(part.is_down(down) for _, down in samples):
            _went_down(part, samples, now=now)
    for incident in Incident.objects.filter(resolved_at=None).exclude(opened_for=""):
        part_of = PARTS.get(incident.opened_for)
        if part_of is None or not any(part_of.is_down(down) for _, down in samples):
            _works(incident.pk, since=samples[0][0], now=now)


def _went_down(part: WatchedPart, samples: Sequence[tuple[datetime, list[str]]], *, now: datetime) -> None:
    since, last = samples[0][0], samples[-1][1]
    if any(PARTS[name].is_down(down) for name in part.needs for _, down in samples) or _is_told(part, since=since):
        return
    try:
        with transaction.atomic():
            if not _reopened(part, since=since, now=now):
                _open(part, sorted(part.ids & set(last)), since=since, now=now)
    except IntegrityError:
        return  # another process was quicker: the constraint allows one open incident of a part


def _is_told(part: WatchedPart, *, since: datetime) -> bool:
    """Whether an open incident is about the part, or one that was closed after the part went down."""
    lately = Q(resolved_at=None) | Q(resolved_at__gt=since)
    about = Q(opened_for=part.name) | Q(components__overlap=sorted(part.ids))
    return Incident.objects.filter(lately, about).exists()


def _open(part: WatchedPart, components: list[str], *, since: datetime, now: datetime) -> None:
    incident = Incident.objects.create(title=part.title, started_at=since, components=components, opened_for=part.name)
    _tell(incident, OPENED, now=now)


def _reopened(part: WatchedPart, *, since: datetime, now: datetime) -> bool:
    """Open the part's last incident again, if it ended a short time ago and no operator has written in it."""
    recent = Incident.objects.select_for_update().filter(opened_for=part.name, resolved_at__gte=since - SAME)
    incident = recent.first()
    if incident is None or _is_of_an_operator(incident):
        return False
    if incident.resolved_at is None:
        return True
    incident.status, incident.resolved_at = IncidentStatus.INVESTIGATING, None
    incident.save(update_fields=["status", "resolved_at"])
    _tell(incident, AGAIN, now=now)
    return True


@transaction.atomic
def _works(pk: str, *, since: datetime, now: datetime) -> None:
    incident = Incident.objects.select_for_update().filter(pk=pk, resolved_at=None).first()
    if incident is None:
        return
    if _is_of_an_operator(incident):
        last = incident.updates.order_by("-id").first()
        if last and not last.automatic:
            _tell(incident, WORKS, now=now)
        return
    incident.status, incident.resolved_at = IncidentStatus.RESOLVED, max(since, incident.started_at)
    incident.save(update_fields=["status", "resolved_at"])
    _tell(incident, WORKS, now=now)


def _is_of_an_operator(incident: Incident) -> bool:
    return incident.updates.filter(automatic=False).exists()


def _tell(incident: Incident, text: str, *, now: datetime) -> None:
    if incident.updates.count() < MOST_UPDATES:
        IncidentUpdate.objects.create(incident=incident, at=now, status=incident.status, text=text, automatic=True)
