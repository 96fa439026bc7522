"""Engines of third parties: Python packages with an entry point in the group `agentpods.engines`.

The entry point's name is the engine's id, its value an `EnginePackage`. docs/how-to/add-an-engine.md shows a whole one.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
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
    """The packages that are installed beside us. One that is broken, or has the id of another one, is left out and
    told: the other engines go on."""
    found: dict[str, EnginePackage] = {}
    points = sorted(entry_points(group=GROUP), key=lambda one: one.name)
    twice = {name for name, count in Counter(point.name for point in points).items() if count > 1}
    for point in points:
        try:
            found[point.name] = _loaded(point, {*ours, *twice})
        except (Exception, SystemExit):  # somebody else's code: also one that would end the program at its import
            log.exception("the engine package %s (%s) cannot be used", point.name, point.value)
    return found


def _loaded(point: EntryPoint, taken: Collection[str]) -> EnginePackage:
    if point.name in taken:
        raise ValueError(f"{point.name} is the id of another engine too")
    package = point.load()
    if not isinstance(package, EnginePackage):
        raise TypeError(f"{point.name} is a {type(package).__name__}, not an EnginePackage")
    if package.engine.id != point.name:
        raise ValueError(f"the entry point is named {point.name}, the engine {package.engine.id}")
    return package
