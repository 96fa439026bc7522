"""Toolsets: which are offered, which an engine supports, and which are on if the owner has chosen none."""

from __future__ import annotations

from catalog import engines, snapshot
from catalog.models import Engine, Toolset
from catalog.vocabulary import DEFAULT_ENGINE
from config.errors import BadRequest


class UnknownToolset(BadRequest):
    def __init__(self, toolset_id: str, field: str) -> None:
        super().__init__(f"{field}: {toolset_id!r} is not a toolset; GET /tools lists the ids")


class EngineLacksToolset(BadRequest):
    def __init__(self, toolset_id: str, engine: Engine, field: str) -> None:
        allowed = ", ".join(toolset.id for toolset in offered(engine)) or "none"
        super().__init__(
            f"{field}: {engine.label} does not support {toolset_id!r}; allowed: {allowed}; "
            f"GET /tools?engine={engine.id} tells more"
        )


class ToolsetTwice(BadRequest):
    def __init__(self, toolset_id: str, field: str) -> None:
        super().__init__(f"{field}: {toolset_id!r} is given twice")


def offered(engine: Engine | None = None) -> list[Toolset]:
    """The toolsets that this engine supports; without an engine, those that any offered engine supports."""
    toolsets = snapshot.offered(snapshot.current().toolsets).values()
    among = [engine] if engine else engines.offered()
    return [toolset for toolset in toolsets if any(_supports(one, toolset.id) for one in among)]


def names() -> set[str]:
    """The ids of all toolsets, even those that no engine supports yet."""
    return set(snapshot.current().toolsets)


def engines_of(toolset: Toolset) -> list[str]:
    """The ids of the offered engines that support the toolset."""
    return [engine.id for engine in engines.offered() if _supports(engine, toolset.id)]


def service_of(toolset: Toolset, engine: Engine) -> str | None:
    """The service whose key the owner must give for this toolset on this engine; None if no key is needed."""
    return toolset.service if toolset.id in (engine.keyed_toolsets or []) else None


def services_of(ids: list[str], engine: Engine) -> dict[str, str]:
    """The services whose keys these toolsets need on this engine, each with the first toolset that needs it."""
    toolsets = snapshot.current().toolsets
    needed = [(service_of(toolsets[name], engine), name) for name in reversed(ids) if name in toolsets]
    return {service: name for service, name in reversed(dict(needed).items()) if service}


def engines_that_need_a_key(toolset: Toolset) -> list[str]:
    """The ids of the engines on which the toolset works only with a key of the owner."""
    return [engine.id for engine in engines.offered() if _supports(engine, toolset.id) and service_of(toolset, engine)]


def is_default(toolset: Toolset, engine: Engine | None = None) -> bool:
    """Whether `tools.enabled: []` switches the toolset on, on this engine or on the default engine."""
    engine = engine or engines.engine_of(DEFAULT_ENGINE)
    return toolset.default_enabled and _supports(engine, toolset.id) and not service_of(toolset, engine)


def effective(ids: list[str], engine: Engine) -> list[str]:
    """The ids of toolsets that are on: the chosen ones, else those of the safe set that need no key on this engine."""
    return ids or [toolset.id for toolset in offered() if is_default(toolset, engine)]


def check_toolsets(ids: list[str], engine: Engine, field: str = "tools.enabled") -> list[str]:
    """Return the ids. Raises UnknownToolset, EngineLacksToolset, ToolsetTwice."""
    known = {toolset.id for toolset in offered()}
    for index, toolset in enumerate(ids):
        if toolset not in known:
            raise UnknownToolset(toolset, field)
        if not _supports(engine, toolset):
            raise EngineLacksToolset(toolset, engine, field)
        if toolset in ids[:index]:
            raise ToolsetTwice(toolset, field)
    return ids


def _supports(engine: Engine, toolset_id: str) -> bool:
    return engine.toolsets is None or toolset_id in engine.toolsets
