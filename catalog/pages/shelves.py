"""The public personas as the pages offer them: sorted once per version of the catalog."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from heapq import nlargest

from catalog import personas, snapshot
from catalog.models import Persona
from catalog.vocabulary import Category, PersonaStatus

ON_A_SHELF = 8  # of the community's newest, and of its most deployed


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelves:
    """Each list in the order in which it is shown."""

    of: snapshot.Snapshot
    personas: list[Persona]
    by_category: dict[str, list[Persona]]  # ours first, then the community's most deployed
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
    shown = personas.public()
    community = [one for one in shown if one.status != PersonaStatus.BUILTIN]
    return Shelves(
        of=now,
        personas=shown,
        by_category=_by_category(shown),
        newest=nlargest(ON_A_SHELF, community, key=lambda one: (one.published_at or one.created_at, one.id)),
        popular=nlargest(ON_A_SHELF, [one for one in community if one.deployed_count], key=_deployed),
        updated_at=max((one.updated_at for one in shown), default=None),
    )


def _by_category(shown: list[Persona]) -> dict[str, list[Persona]]:
    found: dict[str, list[Persona]] = {category: [] for category in Category.values}
    for persona in shown:
        found[persona.category].append(persona)
    for members in found.values():
        members.sort(key=_rank)
    return found


def _rank(persona: Persona) -> tuple[bool, int, int, str]:
    ours = persona.status == PersonaStatus.BUILTIN
    return (not ours, persona.position if ours else 0, 0 if ours else -persona.deployed_count, persona.id)


def _deployed(persona: Persona) -> tuple[int, str]:
    return persona.deployed_count, persona.id
