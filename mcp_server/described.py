"""What /openapi.json says of an operation, with nothing left to look up: schemas of tools are made of it."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from config.docs import document

Schema = dict[str, Any]

_NOT_FOR_MODELS = {"examples", "readOnly", "writeOnly", "pattern"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationShape:
    method: str
    path: str
    in_path: Mapping[str, Schema]
    in_query: Mapping[str, Schema]
    in_body: Mapping[str, Schema] | None  # None: it takes no body
    required: frozenset[str]
    answer: Schema | None  # None: it answers without a body


@functools.cache
def operations() -> Mapping[str, OperationShape]:
    """Every operation of the API by its name."""
    described = json.loads(document().body)
    return {
        item["operationId"]: _shape(method, path, item, described)
        for path, methods in described["paths"].items()
        for method, item in methods.items()
        if isinstance(item, dict) and "operationId" in item
    }


@functools.cache
def introduction() -> str:
    """The API in one page, in Markdown."""
    told: str = json.loads(document().body)["info"]["description"]
    return told


def _shape(method: str, path: str, item: Schema, described: Schema) -> OperationShape:
    parameters = item.get("parameters", [])
    body = _json_of(item.get("requestBody", {}), described)
    answer: Schema = next((one for status, one in item["responses"].items() if status.startswith("2")), {})
    needed = {one["name"] for one in parameters if one.get("required")} | set((body or {}).get("required", ()))
    return OperationShape(
        method=method.upper(),
        path=path,
        in_path=_parameters(parameters, "path", described),
        in_query=_parameters(parameters, "query", described),
        in_body=None if body is None else body.get("properties", {}),
        required=frozenset(needed),
        answer=_json_of(answer, described),
    )


def _parameters(parameters: list[Schema], place: str, described: Schema) -> Mapping[str, Schema]:
    return {one["name"]: {**_whole(one["schema"], described), **_told(one)} for one in parameters if one["in"] == place}


def _told(parameter: Schema) -> Schema:
    return {"description": parameter["description"]} if "description" in parameter else {}


def _json_of(part: Schema, described: Schema) -> Schema | None:
    content = part.get("content", {}).get("application/json")
    found = _whole(content["schema"], described) if content else None
    return found if isinstance(found, dict) else None


def _whole(schema: Any, described: Schema) -> Any:
    """The schema with each reference replaced by what it names, and without what only people read."""
    if isinstance(schema, list):
        return [_whole(one, described) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        named = schema["$ref"].rpartition("/")[2]
        return _whole(described["components"]["schemas"][named], described)
    return {
        name: {key: _whole(one, described) for key, one in value.items()}
        if name == "properties"
        else _whole(value, described)
        for name, value in schema.items()
        if name not in _NOT_FOR_MODELS
    }
