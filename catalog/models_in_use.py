"""Which models are in use, and what uses them.

Other apps register here at their start, because the catalog does not import agents.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from catalog.llm_models import ALIASES
from catalog.models import Persona
from catalog.vocabulary import PersonaStatus

NAMED = 3  # personas that are named; the rest is only counted

Counts = Callable[[], Mapping[str, int]]

_counts: dict[str, Counts] = {}


def register(noun: str, counts: Counts) -> None:
    """Register a user of models. `counts()` maps model ids to the number of such users, e.g. agents, of each model."""
    _counts[noun] = counts


def in_use() -> dict[str, list[str]]:
    """What uses each model, e.g. `2 agents`, `persona exam-coach`. Unused models are left out."""
    users: dict[str, list[str]] = defaultdict(list)
    for noun, counts in _counts.items():
        for model_id, count in counts().items():
            users[model_id].append(f"{count} {noun}{'s' if count > 1 else ''}")
    for model_id, slugs in _recommending().items():
        users[model_id].append(_named(slugs))
    return dict(users)


def _recommending() -> dict[str, list[str]]:
    """The public personas that recommend each model. A model of a vendor with two ids counts under both ids."""
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
