"""Which models are in use, and by whom.

What uses models says so here when its app starts, for the catalog knows nothing of agents.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from catalog.llm_models import ALIASES
from catalog.models import Persona
from catalog.vocabulary import PersonaStatus

NAMED = 3  # personas named before the rest is counted

Counts = Callable[[], Mapping[str, int]]

_counts: dict[str, Counts] = {}


def register(noun: str, counts: Counts) -> None:
    """`counts()` gives the ids of the models that any `noun`, such as an agent, has, and how many have each."""
    _counts[noun] = counts


def in_use() -> dict[str, list[str]]:
    """Who uses each model that is used, e.g. `2 agents`, `persona exam-coach`."""
    users: dict[str, list[str]] = defaultdict(list)
    for noun, counts in _counts.items():
        for model_id, count in counts().items():
            users[model_id].append(f"{count} {noun}{'s' if count > 1 else ''}")
    for model_id, slugs in _recommending().items():
        users[model_id].append(_named(slugs))
    return dict(users)


def _recommending() -> dict[str, list[str]]:
    """The public personas that recommend each model; one of a vendor with two ids is recommended under both."""
    personas: dict[str, list[str]] = defaultdict(list)
    public = Persona.objects.offered().filter(status__in=[PersonaStatus.BUILTIN, PersonaStatus.PUBLISHED])
    for slug, model_ids in public.order_by("id").values_list("id", "recommended_models").iterator():
        for model_id in dict.fromkeys(twin for given in model_ids for twin in _twins(given)):
            personas[model_id].append(slug)
    return personas


def _twins(model_id: str) -> list[str]:
    provider, _, name = model_id.partition(":")
    return [model_id, f"{ALIASES[provider]}:{name}"] if provider in ALIASES else [model_id]


def _named(slugs: list[str]) -> str:
    rest = len(slugs) - NAMED
    names = ", ".join(slugs[:NAMED]) + (f" and {rest} more" if rest > 0 else "")
    return f"persona{'s' if len(slugs) > 1 else ''} {names}"
