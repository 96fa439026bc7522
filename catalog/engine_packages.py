"""What engine packages of third parties add to the catalog: rows and licences (docs/how-to/add-an-engine.md)."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from typing import Any

from catalog.vocabulary import ENGINE_PACKAGES, ENGINES_TWICE, EngineId

# The id is part of names in clusters, of paths and of addresses, and it fits into our columns.
_ID = re.compile(r"[a-z][a-z0-9-]{0,19}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPackages:
    rows: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # the columns of catalog/data/engines.yaml
    licences: dict[str, str] = field(default_factory=dict)  # what the operator must confirm; "" is nothing
    broken: dict[str, str] = field(default_factory=dict)  # why a package cannot be used


@functools.cache
def found() -> FoundPackages:
    """All engine packages. Read once, because the installed packages change only with a restart."""
    result = FoundPackages()
    for engine_id, point in sorted(ENGINE_PACKAGES.items()):
        try:
            package = _loaded(engine_id, point)
            result.rows[engine_id], result.licences[engine_id] = dict(package.row), str(package.licence)
        except (Exception, SystemExit) as error:  # noqa: BLE001 # code of others: report whatever it raises
            result.broken[engine_id] = str(error) if isinstance(error, _Refused) else f"{type(error).__name__}: {error}"
    return result


class _Refused(Exception):
    pass


def _loaded(engine_id: str, point: EntryPoint) -> Any:
    """Load the package and check its id.

    The pods make the same checks (agents/engines/packages.py). Otherwise the catalog would offer an engine that no pod
    can run.
    """
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
