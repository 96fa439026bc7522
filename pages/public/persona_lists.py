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

ON_A_LIST = 8  # the newest of the community, and the most used


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaLists:
    """Sorted lists of personas. Each is in the order in which it is shown."""

    of: snapshot.Snapshot
    personas: list[Persona]
    by_category: dict[str, list[Persona]]  # our personas first, then the most used of the community
    newest: list[Persona]
    popular: list[Persona]
    updated_at: datetime | None

    def in_category(self, category: str) -> list[Persona]:
        return self.by_category.get(category, [])


_lists: PersonaLists | None = None


def current() -> PersonaLists:
    global _lists  # noqa: PLW0603 # replaced as a whole, like the snapshot
    now, lists = snapshot.current(), _lists
    if lists is None or lists.of is not now:
        lists = _lists = _sort(now)
    return lists


def _sort(now: snapshot.Snapshot) -> PersonaLists:
    """Sort the personas. With thousands of personas this takes milliseconds, once per change of the catalog."""
    shown = personas.public()
    builtin = PersonaStatus.BUILTIN.value
    ours = [one for one in shown if one.status == builtin]
    community = [one for one in shown if one.status != builtin]
    most_used = sorted(community, key=attrgetter("deployed_count"), reverse=True)
    by_category: dict[str, list[Persona]] = {category: [] for category in Category.values}
    for persona in chain(ours, most_used):
        by_category[persona.category].append(persona)
    return PersonaLists(
        of=now,
        personas=shown,
        by_category=by_category,
        newest=nlargest(ON_A_LIST, community, key=_since),
        popular=[one for one in most_used[:ON_A_LIST] if one.deployed_count],
        updated_at=max((one.updated_at for one in shown), default=None),
    )


def _since(persona: Persona) -> datetime:
    return persona.published_at or persona.created_at
