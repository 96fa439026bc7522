"""Reading a list of models, whatever it contains."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog import listing
from catalog.listing import ListedModels, Skipped
from tests.catalog.listed import document, model, provider


def read(*models: dict[str, Any], under: str = "openai") -> ListedModels:
    return listing.parse(document(provider(under, *models)))


def test_a_model_has_its_name_label_prices_and_day() -> None:
    found = read(model("gpt-9", 1.25, 10, "2026-10-05", name=" GPT-9 ")).models["openai"]["gpt-9"]
    assert (found.name, found.label) == ("gpt-9", "GPT-9")
    assert (found.input_usd, found.output_usd, found.released) == (Decimal("1.25"), Decimal(10), date(2026, 10, 5))


def test_google_and_gemini_are_one_vendor() -> None:
    found = read(model("gemini-9-flash", 0.3, 2.5), under="google")
    assert found.models["google"] == found.models["gemini"] != {}


def test_providers_that_are_not_listed_are_named_and_others_are_nothing_to_us() -> None:
    found = read(model("gpt-9", 1, 2))
    assert list(found.models) == ["openai"]
    assert {"nous", "groq", "gemini"} <= set(found.absent)
    assert "cloudburst" not in {*found.models, *found.absent}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"status": "deprecated"}, Skipped.DEPRECATED),
        ({"status": "alpha"}, Skipped.ALPHA),
        ({"tool_call": False}, Skipped.NO_TOOL_CALLS),
        ({"tool_call": None}, Skipped.NO_TOOL_CALLS),
        ({"tool_call": {"supported": False}}, Skipped.NO_TOOL_CALLS),
        ({"cost": None}, Skipped.NO_PRICES),
        ({"cost": {"input": 1}}, Skipped.NO_PRICES),
        ({"modalities": {"input": ["text"], "output": ["text", "image"]}}, Skipped.NOT_TEXT),
        ({"modalities": {"input": ["audio"], "output": ["text"]}}, Skipped.NOT_TEXT),
    ],
)
def test_what_no_agent_could_use_is_skipped_without_complaint(given: dict[str, Any], reason: Skipped) -> None:
    found = read(model("good", 1, 2), model("other", 1, 2, **given))
    assert found.skipped["openai"] == {"other": reason}
    assert found.problems == []


@pytest.mark.parametrize(
    "given",
    [
        {"status": "beta"},
        {"status": None},
        {"tool_call": {"supported": True, "streaming": False}},
        {"modalities": None},
        {"release_date": "2026-10"},
        {"release_date": None},
        {"brand_new_field": [1, {"x": None}]},
    ],
)
def test_what_says_less_or_more_than_we_know_is_still_a_model(given: dict[str, Any]) -> None:
    assert set(read(model("gpt-9", 1, 2, **given)).models["openai"]) == {"gpt-9"}


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"cost": {"input": -1, "output": 2}}, "cost.input: -1 is not a price of 0 to 10000 USD"),
        ({"cost": {"input": 1, "output": float("nan")}}, "cost.output: nan is not a price"),
        ({"cost": {"input": float("inf"), "output": 1}}, "cost.input: inf is not a price"),
        ({"cost": {"input": "free", "output": 1}}, "cost.input: 'free' is not a price"),
        ({"cost": {"input": True, "output": 1}}, "cost.input: True is not a price"),
        ({"cost": {"input": 10**9, "output": 1}}, "cost.input: 1000000000 is not a price"),
        ({"cost": {"input": "9" * 5000, "output": 1}}, "cost.input: '999"),
        ({"cost": "cheap"}, "cost: 'cheap' is not an object"),
        ({"cost": [1, 2]}, "cost: list is not an object"),
        ({"status": 7}, "status: 7 is not a text"),
        ({"name": ["GPT"]}, "name: list is not a line of text"),
        ({"name": "two\nlines"}, r"name: 'two\nlines' is not a line of text"),
        ({"name": "\x1b[31mred"}, r"name: '\x1b[31mred' is not a line of text"),
        ({"name": "x" * 300}, "name: is longer than 200 characters"),
        ({"id": "gpt-8"}, "id: 'gpt-8' is another one"),
        ({"release_date": "2026-13-45"}, "release_date: '2026-13-45' is not a date like 2026-11-21"),
        ({"release_date": 2026}, "release_date: 2026 is not a date"),
    ],
)
def test_a_malformed_entry_is_named_and_left_out_whole(given: dict[str, Any], complaint: str) -> None:
    entry = model("gpt-9", 1, 2) | given
    found = listing.parse({"openai": {"models": {"good": model("good", 1, 2), "gpt-9": entry}}})
    assert set(found.models["openai"]) == {"good"}
    assert found.skipped["openai"] == {"gpt-9": Skipped.MALFORMED}
    assert len(found.problems) == 1
    assert complaint in found.problems[0]
    assert found.problems[0].startswith("openai:'gpt-9': ")


@pytest.mark.parametrize("name", ["", "two words", "naïve", "x" * 300, "tab\t"])
def test_an_id_that_no_provider_would_take_is_malformed(name: str) -> None:
    found = read(model("good", 1, 2), model(name, 1, 2))
    assert set(found.models["openai"]) == {"good"}
    assert len(found.problems) == 1
    assert found.problems[0].isprintable()


def test_an_id_that_comes_twice_is_taken_neither_time() -> None:
    one = json.dumps(model("twice", 1, 2))
    text = f'{{"openai": {{"models": {{"twice": {one}, "good": {json.dumps(model("good", 1, 2))}, "twice": {one}}}}}}}'
    found = listing.parse(json.loads(text, object_pairs_hook=listing.JsonObject))
    assert set(found.models["openai"]) == {"good"}
    assert found.problems == ["openai:'twice': is listed twice"]


@pytest.mark.parametrize(
    ("value", "usd"),
    [(0, "0"), (3, "3"), (0.1, "0.1"), ("0.075", "0.075"), (Decimal("1.36"), "1.36"), (1e-4, "0.0001"), (-0.0, "0")],
)
def test_a_price_is_the_number_that_was_written(value: Any, usd: str) -> None:
    found = read(model("gpt-9", value, value)).models["openai"]["gpt-9"]
    assert found.input_usd == found.output_usd == Decimal(usd)
    assert not found.input_usd.is_signed()


def test_a_provider_without_a_usable_model_counts_as_not_listed() -> None:
    found = read(model("gpt-9", 1, 2, tool_call=False))
    assert "openai" not in found.models
    assert "openai" in found.absent


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(["id", "name", "cost", "tool_call", "status", "release_date", "modalities", "limit"])
COSTS = st.dictionaries(st.sampled_from(["input", "output", "tiers"]), JSON, max_size=3)
MODELS = st.dictionaries(FIELDS, JSON | COSTS | st.just(True), max_size=8)
PROVIDERS = st.dictionaries(
    st.sampled_from(["models", "env", "id"]), st.dictionaries(st.text(max_size=8), MODELS | JSON)
)
DOCUMENTS = st.dictionaries(st.sampled_from(["openai", "google", "nous", "x"]), PROVIDERS | JSON)


@given(DOCUMENTS | JSON)
def test_no_document_can_crash_the_reading_or_bring_in_half_a_model(given: Any) -> None:
    found = listing.parse(given)
    assert {*found.models, *found.absent} == set(listing.NAMES_THERE)
    for models in found.models.values():
        for name, entry in models.items():
            assert entry.name == name
            assert entry.label
            assert entry.input_usd.is_finite()
            assert 0 <= entry.output_usd <= listing.DEAREST_USD
    assert all(problem.isprintable() for problem in found.problems)
