"""The part of an answer that a tool shows, by paths such as `agent.tools.enabled`. Lists need no step of their own.

The same paths cut the answer and its schema, so the schema is true of what a model gets.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Tree = dict[str, "Tree"]  # an empty tree: the whole value


def tree(paths: Iterable[str]) -> Tree:
    grown: Tree = {}
    for path in paths:
        at = grown
        for step in path.split("."):
            at = at.setdefault(step, {})
    return grown


def picked(value: Any, shown: Tree) -> Any:
    if not shown:
        return value
    if isinstance(value, list):
        return [picked(one, shown) for one in value]
    if isinstance(value, dict):
        return {name: picked(value[name], below) for name, below in shown.items() if name in value}
    return value


def picked_schema(schema: dict[str, Any], shown: Tree) -> dict[str, Any]:
    if not shown:
        return schema
    cut = dict(schema)
    for choice in ("oneOf", "anyOf", "allOf"):
        if choice in cut:
            cut[choice] = [picked_schema(one, shown) for one in cut[choice]]
    if "items" in cut:
        cut["items"] = picked_schema(cut["items"], shown)
    if "properties" in cut:
        known = cut["properties"]
        cut["properties"] = {name: picked_schema(known[name], below) for name, below in shown.items() if name in known}
        cut["required"] = [name for name in cut.get("required", []) if name in cut["properties"]]
    return cut


def merged(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    """A schema that is true of what any of these is true of: objects are merged, fields of some are optional."""
    first, *others = schemas
    if not others or any("properties" not in one for one in schemas):
        return first if all(one == first for one in others) else {}
    names = {name: None for one in schemas for name in one["properties"]}
    needed = set.intersection(*(set(one.get("required", ())) for one in schemas))
    properties = {
        name: merged([one["properties"][name] for one in schemas if name in one["properties"]]) for name in names
    }
    return {"type": "object", "properties": properties, "required": sorted(needed)}
