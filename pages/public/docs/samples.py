"""Sample values for a schema: its own example if it has one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

DEEPEST = 6
BY_FORMAT = {
    "date-time": "2026-11-21T06:30:00Z",
    "date": "2026-11-21",
    "uri": "https://example.com",
    "email": "ann@example.com",
}
BY_TYPE: dict[str, Any] = {"string": "…", "integer": 1, "number": 1.5, "boolean": True, "null": None}


class Sampler:
    """Makes sample values. `schemas` are the document's components, to which other schemas refer."""

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self._schemas = schemas

    def resolved(self, schema: Schema) -> Schema:
        """The schema that this one refers to, or its first alternative that is not null."""
        if "$ref" in schema:
            return self.resolved(self._schemas[schema["$ref"].rpartition("/")[2]])
        for word in ("oneOf", "anyOf", "allOf"):
            if word in schema:
                chosen = next(one for one in schema[word] if one.get("type") != "null")
                return {**self.resolved(chosen), **{key: value for key, value in schema.items() if key != word}}
        return schema

    def sample(self, schema: Schema, *, only_required: bool = False, depth: int = 0) -> Any:
        """A sample value. With `only_required`, an object with required fields has only those."""
        full = self.resolved(schema)
        if known := _known(full):
            return known[0]
        kind = kind_of(full)
        if kind == "object":
            return self._object(full, only_required=only_required, depth=depth)
        if kind == "array":
            items = full.get("items")
            return (
                [self.sample(items, only_required=only_required, depth=depth + 1)] if items and depth < DEEPEST else []
            )
        return _scalar(full, kind)

    def _object(self, schema: Schema, *, only_required: bool, depth: int) -> dict[str, Any]:
        if depth >= DEEPEST:
            return {}
        properties: Mapping[str, Schema] = schema.get("properties", {})
        required = schema.get("required", [])
        shown = [name for name in properties if not only_required or not required or name in required]
        return {
            name: self.sample(properties[name], only_required=only_required, depth=depth + 1)
            for name in shown
            if not properties[name].get("writeOnly") or only_required
        }


def kind_of(schema: Schema) -> str:
    """The schema's type. If it has several: the first that is not null."""
    types = schema.get("type", "object" if "properties" in schema else "string")
    named = [types] if isinstance(types, str) else types
    return str(next((one for one in named if one != "null"), "null"))


def _known(schema: Schema) -> list[Any]:
    """The document's example as a list with one element; empty if it gives none."""
    if "const" in schema:
        return [schema["const"]]
    for word in ("example", "default"):
        if schema.get(word) is not None:
            return [schema[word]]
    for word in ("examples", "enum"):
        if isinstance(schema.get(word), list) and schema[word]:
            return [schema[word][0]]
    return []


def _scalar(schema: Schema, kind: str) -> Any:
    if kind == "string":
        return BY_FORMAT.get(schema.get("format", ""), BY_TYPE["string"])
    if kind in {"integer", "number"} and "minimum" in schema:
        return max(schema["minimum"], BY_TYPE["integer"])
    return BY_TYPE[kind]
