"""What packages of third parties bring to the catalog: their engines' rows and licences (docs/engines.md)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from catalog.vocabulary import ENGINE_PACKAGES, EngineId


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    rows: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # the columns of catalog/data/engines.yaml
    licences: dict[str, str] = field(default_factory=dict)  # what is to be confirmed; "" = nothing
    broken: dict[str, str] = field(default_factory=dict)  # why it cannot be used


@functools.cache
def found() -> Found:
    """Read once: what is installed changes with a restart."""
    result = Found()
    for engine_id, point in sorted(ENGINE_PACKAGES.items()):
        if engine_id in EngineId.values:
            result.broken[engine_id] = "this is the id of an engine of ours"
            continue
        try:
            package = point.load()
            result.rows[engine_id], result.licences[engine_id] = dict(package.row), str(package.licence)
        except Exception as error:  # noqa: BLE001 # somebody else's code: whatever it raises is told
            result.broken[engine_id] = f"{type(error).__name__}: {error}"
    return result
