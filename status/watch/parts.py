"""The parts of the platform for which incidents open by themselves, and what such an incident says.

The texts are in English in the database and in the API. The status page shows them in the reader's language.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.utils.translation import gettext_noop

from status import loops
from status.components import MAIL, Component, Health

# People wait for the work of these loops. A late loop of the others delays nothing that anybody sees.
URGENT = frozenset(name for name, period in loops.PERIODS.items() if period <= timedelta(seconds=10))

OPENED = gettext_noop("Our own checks found this. We are looking for the cause.")
AGAIN = gettext_noop("It stopped working again.")
WORKS = gettext_noop("It works again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedPart:
    """`needs` names parts without which this one cannot work: they get the incident then."""

    name: str
    title: str
    ids: frozenset[str]
    needs: tuple[str, ...] = ()

    def is_down(self, down: Collection[str]) -> bool:
        return not self.ids.isdisjoint(down)


def _one(name: str, title: str, *needs: str) -> WatchedPart:
    return WatchedPart(name=name, title=title, ids=frozenset({name}), needs=needs)


PARTS = {
    part.name: part
    for part in (
        _one("database", gettext_noop("The database does not answer")),
        _one("cache", gettext_noop("The cache does not answer"), "database"),
        _one("queue", gettext_noop("The task queue does not keep up"), "database", "cache"),
        _one("runtime", gettext_noop("Agents cannot be started or seen"), "database"),
        _one(MAIL, gettext_noop("Mails are not sent"), "database"),
        WatchedPart(
            name="background",
            title=gettext_noop("Background work is late"),
            ids=URGENT,
            needs=("database", "cache", "queue"),
        ),
    )
}


def down(components: Iterable[Component]) -> list[str]:
    """The ids of the components that are down. An urgent loop is down if it is late."""
    return [one.id for one in components if one.status == Health.DOWN or (one.id in URGENT and one.status != Health.OK)]
