"""The catalog's description of an engine agrees with the engine's adapter."""

from __future__ import annotations

import pytest

from agents.engines import ENGINES
from catalog import files
from catalog.models import Engine

CATALOG = {row.pk: row for row in files.read().rows[Engine] if isinstance(row, Engine)}
GATEWAYS_OWN = {"a2a"}


@pytest.mark.parametrize("name", ENGINES)
def test_a_landed_engine_supports_what_the_catalog_says(name: str) -> None:
    told, adapter = CATALOG[name], ENGINES[name]
    assert set(told.toolsets or []) == set(adapter.toolsets) | GATEWAYS_OWN
    assert set(told.accepted_providers or []) == set(adapter.providers)


def test_only_engines_with_an_adapter_are_stable() -> None:
    assert {name for name, engine in CATALOG.items() if engine.status == "stable"} <= set(ENGINES)
