"""Finds engines of third parties: Python packages with an entry point in the group `agentpods.engines`.
The name of the entry point is the engine's id, and its value is an `EnginePackage`. docs/how-to/add-an-engine.md shows
a complete package.
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
    """What a third party provides for an engine."""

    engine: Engine
    row: Mapping[str, Any]  # the engine's entry in the catalog, with the keys of catalog/data/engines.yaml except `id`
    dashboard: Dashboard | None = None
    # Facts that the conformance tests need about the engine: the fields of tests/agents/engines/expectations.py.
    conformance: Mapping[str, Any] = field(default_factory=dict)
    # the licence that an operator must confirm before production offers the engine; "" = anybody may host it
    licence: str = ""


def installed(*, ours: Mapping[str, Engine]) -> dict[str, EnginePackage]:
    """The installed engine packages, by id. A package that is broken, or has the id of another engine, is left out and
    logged, so that the other engines still work.
    """
    found: dict[str, EnginePackage] = {}
    points = sorted(entry_points(group=GROUP), key=lambda one: one.name)
    twice = {name for name, count in Counter(point.name for point in points).items() if count > 1}
    for point in points:
        try:
            found[point.name] = _loaded(point, {*ours, *twice})
        except (Exception, SystemExit):  # third-party code may even exit the program when it is imported
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
