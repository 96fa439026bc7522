"""Engines."""

from __future__ import annotations

import pytest

from catalog import engines, snapshot, tiers
from catalog.models import Engine
from config.errors import BadRequest

pytestmark = pytest.mark.usefixtures("catalog")


def test_an_offered_engine_is_known() -> None:
    engine = engines.known_engine("pi")
    assert (engine.label, engine.min_tier, engine.status) == ("Pi", "tiny", "stable")
    assert (engine.channels, engine.toolsets) == (["web"], ["file", "terminal", "skills", "a2a"])


def test_an_unknown_engine_names_the_field_and_what_is_allowed() -> None:
    with pytest.raises(BadRequest, match=r"^engine: 'gpt' is not an engine; allowed: pi, hermes, "):
        engines.known_engine("gpt")


def test_a_hidden_engine_is_refused_to_new_agents_and_kept_by_those_that_have_it() -> None:
    Engine.objects.filter(id="n8n").update(gone=True)
    snapshot.forget()
    with pytest.raises(BadRequest):
        engines.known_engine("n8n")
    assert engines.engine_of("n8n").label == "n8n"


@pytest.mark.parametrize(
    ("engine", "tier"), [("pi", "tiny"), ("pi", "large"), ("hermes", "small"), ("n8n", "medium"), ("n8n", "large")]
)
def test_a_plan_that_fits_is_taken(engine: str, tier: str) -> None:
    engines.check_tier(engines.known_engine(engine), tiers.known_tier(tier))


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
        engines.check_tier(engines.known_engine(engine), tiers.known_tier(tier))
