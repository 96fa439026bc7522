"""The public personas, sorted for the pages once per version of the catalog."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from heapq import nlargest
from itertools import chain
from operator import attrgetter

from catalog import personas, snapshot
from catalog.models import Persona
from catalog.vocabulary import Category, PersonaStatus

ON_A_SHELF = 8  # the newest of the community, and the most used


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelves:
    """Sorted lists of personas. Each is in the order in which it is shown."""

    of: snapshot.Snapshot
    personas: list[Persona]
    by_category: dict[str, list[Persona]]  # our personas first, then the most used of the community
    newest: list[Persona]
    popular: list[Persona]
    updated_at: datetime | None

    def in_category(self, category: str) -> list[Persona]:
        return self.by_category.get(category, [])


_shelves: Shelves | None = None


def current() -> Shelves:
    global _shelves  # noqa: PLW0603 # replaced as a whole, like the snapshot
    now, shelves = snapshot.current(), _shelves
    if shelves is None or shelves.of is not now:
        shelves = _shelves = _sort(now)
    return shelves


def _sort(now: snapshot.Snapshot) -> Shelves:
    """Sort the personas. With thousands of personas this takes milliseconds, once per change of the catalog."""
    shown = personas.public()
    builtin = PersonaStatus.BUILTIN.value
    ours = [one for one in shown if one.status == builtin]
    community = [one for one in shown if one.status != builtin]
    most_used = sorted(community, key=attrgetter("deployed_count"), reverse=True)
    by_category: dict[str, list[Persona]] = {category: [] for category in Category.values}
    for persona in chain(ours, most_used):
        by_category[persona.category].append(persona)
    return Shelves(
        of=now,
        personas=shown,
        by_category=by_category,
        newest=nlargest(ON_A_SHELF, community, key=_since),
        popular=[one for one in most_used[:ON_A_SHELF] if one.deployed_count],
        updated_at=max((one.updated_at for one in shown), default=None),
    )


def _since(persona: Persona) -> datetime:
    return persona.published_at or persona.created_at
