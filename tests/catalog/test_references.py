"""Whether the ids in a row exist."""

from __future__ import annotations

import pytest

from catalog import references
from catalog.models import Engine, LlmModel, Persona, Tier

KNOWN = references.Known(tiers={"tiny"}, llm_providers={"openai"}, llm_models={"openai:a"}, toolsets={"file"})


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        (Tier(id="tiny"), {}),
        (Engine(min_tier="tiny", llm_providers=None, toolsets=None), {}),
        (Engine(min_tier="tiny", llm_providers=["openai"], toolsets=["file"]), {}),
        (
            Engine(min_tier="large", llm_providers=["xai"], toolsets=["file", "laser"]),
            {"min_tier": "large", "llm_providers": "xai", "toolsets": "laser"},
        ),
        (LlmModel(provider="xai"), {"provider": "xai"}),
        (Persona(tier="tiny", recommended_models=["openai:a"]), {}),
        (Persona(tier="huge", recommended_models=["a", "b"]), {"tier": "huge", "recommended_models": "a, b"}),
    ],
)
def test_unknown_ids_are_named_by_column(row: Tier | Engine | LlmModel | Persona, wrong: dict[str, str]) -> None:
    assert references.unknown(row, KNOWN) == {column: f"not in the catalog: {ids}" for column, ids in wrong.items()}


@pytest.mark.usefixtures("catalog")
def test_what_is_loaded_is_known() -> None:
    known = references.in_database()
    assert all(references.unknown(engine, known) == {} for engine in Engine.objects.all())
