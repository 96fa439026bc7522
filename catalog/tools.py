"""Toolsets: which are offered, which an engine supports, and which are on when the owner chose none."""

from __future__ import annotations

from catalog import snapshot
from catalog.models import Engine, Toolset
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
    """The offered toolsets, all or those that one engine supports."""
    toolsets = snapshot.offered(snapshot.current().toolsets).values()
    return [toolset for toolset in toolsets if engine is None or _supports(engine, toolset.id)]


def safe_set() -> list[str]:
    """What `tools.enabled: []` stands for, before an engine's own limits."""
    return [toolset.id for toolset in offered() if toolset.default_enabled]


def effective(ids: list[str], engine: Engine) -> list[str]:
    """The toolsets that are on: those chosen, or of the safe set what the engine supports."""
    return ids or [name for name in safe_set() if _supports(engine, name)]


def check_toolsets(ids: list[str], engine: Engine, field: str = "tools.enabled") -> list[str]:
    """Refuse what is not a toolset, what the engine does not support, and repetitions."""
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
