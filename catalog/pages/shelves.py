"""The public personas as the pages offer them: sorted once per version of the catalog."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from heapq import nlargest
from itertools import chain
from operator import attrgetter

from catalog import personas, snapshot
from catalog.models import Persona
from catalog.vocabulary import Category, PersonaStatus

ON_A_SHELF = 8  # of the community's newest, and of its most used


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelves:
    """Each list in the order in which it is shown."""

    of: snapshot.Snapshot
    personas: list[Persona]
    by_category: dict[str, list[Persona]]  # ours first, then the community's most used
    newest: list[Persona]
    popular: list[Persona]
    updated_at: datetime | None

    def in_category(self, category: str) -> list[Persona]:
        return self.by_category.get(category, [])


_shelves: Shelves | None = None


def current() -> Shelves:
    global _shelves  # noqa: PLW0603 # replaced whole, like the snapshot that it is made of
    now, shelves = snapshot.current(), _shelves
    if shelves is None or shelves.of is not now:
        shelves = _shelves = _sort(now)
    return shelves


def _sort(now: snapshot.Snapshot) -> Shelves:
    """Also where thousands are public this takes milliseconds: each change of the catalog costs it once."""
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
