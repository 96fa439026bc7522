"""Checks that the ids in a row exist: in the files before a load, in the database before the admin saves."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from catalog import snapshot
from catalog.models import CatalogRow, Engine, LlmModel, Persona


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The ids that exist."""

    tiers: Collection[str]
    llm_providers: Collection[str]
    llm_models: Collection[str]
    toolsets: Collection[str]


def in_database() -> Known:
    now = snapshot.current()
    return Known(tiers=now.tiers, llm_providers=now.llm_providers, llm_models=now.llm_models, toolsets=now.toolsets)


def unknown(row: CatalogRow, known: Known) -> dict[str, str]:
    """The problems of the row, by column."""
    match row:
        case Engine():
            named = {
                "min_tier": _missing([row.min_tier], known.tiers),
                "llm_providers": _missing(row.llm_providers or [], known.llm_providers),
                "toolsets": _missing(row.toolsets or [], known.toolsets),
                "keyed_toolsets": _missing(row.keyed_toolsets or [], known.toolsets),
            }
        case LlmModel():
            named = {"provider": _missing([row.provider], known.llm_providers)}
        case Persona():
            named = {
                "tier": _missing([row.tier], known.tiers),
                "recommended_models": _missing(row.recommended_models, known.llm_models),
            }
        case _:
            return {}
    return {column: f"not in the catalog: {', '.join(ids)}" for column, ids in named.items() if ids}


def _missing(ids: Iterable[str], known: Collection[str]) -> list[str]:
    return [name for name in ids if name not in known]
