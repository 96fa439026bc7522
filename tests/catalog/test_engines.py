"""Engines in the catalog."""

from __future__ import annotations

import pytest

from agents.engines import ENGINES
from catalog import engines, snapshot, tiers
from catalog.models import Engine
from catalog.vocabulary import RUNNABLE
from config.errors import BadRequest

pytestmark = pytest.mark.usefixtures("catalog")


def test_an_offered_engine_is_known() -> None:
    engine = engines.known_engine("pi")
    assert (engine.label, engine.min_tier, engine.status) == ("Pi", "tiny", "stable")
    assert (engine.channels, engine.toolsets) == (["web"], ["file", "terminal", "skills", "a2a"])


def test_every_engine_that_is_offered_has_an_adapter_and_every_adapter_is_offered() -> None:
    assert {engine.id for engine in engines.offered()} == set(RUNNABLE) == set(ENGINES)


def test_an_unknown_engine_names_the_field_and_what_is_allowed() -> None:
    with pytest.raises(BadRequest, match=r"^engine: 'gpt' is not an engine; allowed: pi, hermes, "):
        engines.known_engine("gpt")


def test_a_hidden_engine_is_refused_to_new_agents_and_kept_by_those_that_have_it() -> None:
    Engine.objects.filter(id="hermes").update(gone=True)
    snapshot.forget()
    with pytest.raises(BadRequest):
        engines.known_engine("hermes")
    assert engines.engine_of("hermes").label == "Hermes"


@pytest.mark.parametrize(
    ("engine", "tier"), [("pi", "tiny"), ("pi", "large"), ("hermes", "small"), ("n8n", "medium"), ("n8n", "large")]
)
def test_a_plan_that_fits_is_taken(engine: str, tier: str) -> None:
    engines.check_tier(engines.engine_of(engine), tiers.known_tier(tier))


@pytest.mark.parametrize(
    ("engine", "tier", "allowed"),
    [
        ("hermes", "tiny", "small, medium, large"),
        ("claude-code", "tiny", "small, medium, large"),
        ("openclaw", "small", "medium, large"),
        ("n8n", "tiny", "medium, large"),
    ],
)
def test_a_plan_below_the_engines_smallest_is_refused(engine: str, tier: str, allowed: str) -> None:
    with pytest.raises(BadRequest, match=f"^tier: {tier} is too small for .*; allowed: {allowed}$"):
        engines.check_tier(engines.engine_of(engine), tiers.known_tier(tier))
