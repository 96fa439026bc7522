"""What packages of third parties bring to the catalog: rows and licences of engines (docs/how-to/add-an-engine.md)."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from typing import Any

from catalog.vocabulary import ENGINE_PACKAGES, ENGINES_TWICE, EngineId

# It is part of names in clusters, of paths and of addresses, and fits into our columns.
_ID = re.compile(r"[a-z][a-z0-9-]{0,19}")


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
        try:
            package = _loaded(engine_id, point)
            result.rows[engine_id], result.licences[engine_id] = dict(package.row), str(package.licence)
        except (Exception, SystemExit) as error:  # noqa: BLE001 # somebody else's: whatever it raises is told
            result.broken[engine_id] = str(error) if isinstance(error, _Refused) else f"{type(error).__name__}: {error}"
    return result


class _Refused(Exception):
    pass


def _loaded(engine_id: str, point: EntryPoint) -> Any:
    """The package: what the pods ask of it (agents/engines/packages.py) is asked here too, or the catalog would offer
    what no pod can run."""
    if engine_id in EngineId.values:
        raise _Refused("this is the id of an engine of ours")
    if engine_id in ENGINES_TWICE:
        raise _Refused("two packages have an engine of this id")
    if not _ID.fullmatch(engine_id):
        raise _Refused("an id is 1 to 20 small letters, digits and hyphens, and begins with a letter")
    package = point.load()
    if package.engine.id != engine_id:
        raise _Refused(f"its engine calls itself {package.engine.id}")
    return package
