"""The published JSON schemas: whether an object is valid, and how its lists and maps are merged."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import kubernetes_validate

from tests.doubles.kube.failures import Failure, invalid
from tests.doubles.kube.resources import Object, Resource

Schema = dict[str, Any]

_ROOT = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_PREFIX = "#/$defs/"
_NOT_THERE: Schema = {}

# Custom kinds: which lists are maps, and which fields are required. All other lists are replaced as a whole.
_CUSTOM: dict[str, Schema] = {
    "HTTPRoute": {
        "properties": {
            "parentRefs": {"type": "array", "maxItems": 32, "items": {"type": "object", "required": ["name"]}},
            "hostnames": {"type": "array", "maxItems": 16, "items": {"type": "string", "maxLength": 253}},
            "rules": {"type": "array", "maxItems": 16, "items": {"type": "object"}},
        }
    },
    "ListenerSet": {
        "required": ["parentRef", "listeners"],
        "properties": {
            "parentRef": {"type": "object", "required": ["name"]},
            "listeners": {
                "type": "array",
                "minItems": 1,
                "maxItems": 64,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "required": ["name", "port", "protocol"]},
            },
        },
    },
    "Certificate": {
        "required": ["secretName", "issuerRef"],
        "properties": {
            "secretName": {"type": "string"},
            "issuerRef": {"type": "object", "required": ["name"]},
            "dnsNames": {"type": "array", "items": {"type": "string"}},
        },
    },
}


@functools.cache
def _directory() -> Path:
    return _ROOT / f"v{kubernetes_validate.latest_version()}-local-strict"


@functools.cache
def _definitions() -> dict[str, Schema]:
    text = (_directory() / "_definitions.json").read_text(encoding="utf-8")
    defs: dict[str, Schema] = json.loads(text)["$defs"]
    return defs


@functools.cache
def schema_of(resource: Resource) -> Schema:
    if resource.custom:
        return _custom(resource.kind)
    group = f"{resource.group.split('.')[0]}-" if resource.group else ""
    path = _directory() / f"{resource.kind.lower()}-{group}{resource.version}.json"
    schema: Schema = json.loads(path.read_text(encoding="utf-8").replace("/api/_definitions.json#/", "#/"))
    return schema


def _custom(kind: str) -> Schema:
    spec = {"type": "object", **_CUSTOM[kind]}
    properties = {"apiVersion": {}, "kind": {}, "metadata": {"$ref": _PREFIX + _META}, "spec": spec, "status": {}}
    return {"type": "object", "required": ["spec"], "properties": properties, "additionalProperties": False}


@functools.cache
def _validator(resource: Resource) -> jsonschema_rs.Draft202012Validator:
    """A validator for the kind's schema with only the definitions that it needs: compiling all of them takes long."""
    schema = {key: value for key, value in schema_of(resource).items() if key != "$id"}
    defs: dict[str, Schema] = {}
    waiting = list(_references(schema))
    while waiting:
        name = waiting.pop()
        if name not in defs:
            defs[name] = _definitions()[name]
            waiting.extend(_references(defs[name]))
    return jsonschema_rs.Draft202012Validator({**schema, "$defs": defs})


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix(_PREFIX)
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from _references(child)


def validate(resource: Resource, obj: Object) -> None:
    """Raises 400 for an unknown field or a wrong type, and 422 for a missing field or a value out of bounds."""
    validator = _validator(resource)
    if validator.is_valid(obj):
        return
    errors = [(_field(list(error.instance_path)), error) for error in validator.iter_errors(obj)]
    name = str(obj.get("metadata", {}).get("name", ""))
    unread = [f"{where or '.'}: {error.message}" for where, error in errors if _is_unreadable(error.message)]
    if unread:
        what = f"{resource.kind} in version {resource.version!r} cannot be handled as a {resource.kind}"
        raise Failure(400, f"{what}: strict decoding error: {', '.join(unread)}")
    raise invalid(resource, name, [(where or "metadata", error.message) for where, error in errors])


def _is_unreadable(message: str) -> bool:
    return "Additional properties" in message or "is not of type" in message or "oneOf" in message


def _field(path: list[str | int]) -> str:
    named = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return named.removeprefix(".")


def resolved(schema: Schema) -> Schema:
    """The definition that a reference leads to, overridden by the keys beside the reference."""
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    return {**_definitions()[reference.removeprefix(_PREFIX)], **schema, "$ref": None}


def child(schema: Schema, name: str) -> Schema:
    """The schema of a field of an object, or of a map's values."""
    found = schema.get("properties", _NOT_THERE).get(name, schema.get("additionalProperties"))
    return resolved(found) if isinstance(found, dict) else _NOT_THERE


def items(schema: Schema) -> Schema:
    found = schema.get("items")
    return resolved(found) if isinstance(found, dict) else _NOT_THERE
