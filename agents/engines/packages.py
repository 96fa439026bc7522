"""Engines of third parties: Python packages with an entry point in the group `agentpods.engines`.

The entry point's name is the engine's id, its value an `EnginePackage`. docs/engines.md shows a whole one.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any

from agents.engines.base import Engine
from agents.engines.dashboard import Dashboard

log = logging.getLogger(__name__)

GROUP = "agentpods.engines"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePackage:
    """What a third party gives."""

    engine: Engine
    row: Mapping[str, Any]  # its entry of the catalog, with the keys of catalog/data/engines.yaml, without `id`
    dashboard: Dashboard | None = None
    # What the conformance suite must know of it: the fields of tests/agents/engines/expectations.py.
    conformance: Mapping[str, Any] = field(default_factory=dict)
    licence: str = ""  # what an operator must have cleared before production offers it; "" = anybody may host it


def installed(*, ours: Mapping[str, Engine]) -> dict[str, EnginePackage]:
    """The packages that are installed beside us. One that is broken or has the id of one of ours is left out and told:
    the other engines go on."""
    found: dict[str, EnginePackage] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        try:
            found[point.name] = _loaded(point.load(), point.name, ours)
        except Exception:
            log.exception("the engine package %s (%s) cannot be used", point.name, point.value)
    return found


def _loaded(package: Any, name: str, ours: Mapping[str, Engine]) -> EnginePackage:
    if not isinstance(package, EnginePackage):
        raise TypeError(f"{name} is a {type(package).__name__}, not an EnginePackage")
    if name in ours:
        raise ValueError(f"{name} is the id of an engine of ours")
    if package.engine.id != name:
        raise ValueError(f"the entry point is named {name}, the engine {package.engine.id}")
    return package
