"""The operations of the OpenAPI document as /docs shows them."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.safestring import SafeString
from django.utils.text import slugify

from config import shown_fields
from config.docs import document
from pages.public.docs import calls, prose
from pages.public.docs.calls import Example, ExampleCall
from pages.public.docs.samples import Sampler, Schema, kind_of

JSON = "application/json"
METHODS = ("get", "post", "put", "patch", "delete")
NESTED = 3  # how many levels of nested fields are listed
EVENTS = "Events"
# Example values for the placeholders of a path, by the word before the placeholder.
IN_PATHS = {
    "agents": "agt_e828253f7adc301470808633",
    "articles": "how-to-stay-awake",
    "backups": "2026-11-21T03-00-00Z-nightly",
    "deliveries": "evt_0b6f2d9c41e7a35880d6c2f10b6f2d9c",
    "invoices": "inv_4f1d8c02b7a95e36d0c1f8aa",
    "keys": "key_7a31c05be2f84d96013b5cd8",
    "models": "agent",
    "orders": "cry_91b6e2d04c7f53a8e0d2b6f4",
    "personas": "exam-coach",
    "secrets": "GITHUB_TOKEN",
    "subscriptions": "sub_2c9e51f70ab84d63e1f0c7d5",
}


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or a field of a body."""

    name: str
    kind: str
    required: bool
    about: SafeString


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    id: str
    method: str
    path: str
    summary: str
    about: SafeString
    parameters: list[Field]
    body: list[Field]
    size: str  # the largest body
    examples: list[Example]  # empty for an event, which we send to others
    received: str  # an event's body
    success: str
    answer: str  # the body of the answer, as JSON
    refusals: list[str]


@dataclass(frozen=True, slots=True)
class OperationGroup:
    slug: str
    name: str
    operations: list[Operation]


@dataclass(frozen=True, slots=True)
class Reference:
    about: SafeString
    headings: list[tuple[str, str]]
    groups: dict[str, OperationGroup]  # by their slug, in the document's order


@functools.cache
def reference() -> Reference:
    """Made once per process from the document of /openapi.json."""
    described = json.loads(document().body)
    reader = _Reader(described)
    groups: dict[str, list[Operation]] = {tag["name"]: [] for tag in described["tags"]}
    for path, method, operation in _operations(described["paths"]):
        groups[operation["tags"][0]].append(reader.operation(path, method, operation))
    for name, method, operation in _operations(described.get("webhooks", {})):
        groups[EVENTS].append(reader.event(name, method, operation))
    text = described["info"]["description"]
    listed = [OperationGroup(slugify(name), name, found) for name, found in groups.items() if found]
    return Reference(prose.html(text), prose.headings(text), {one.slug: one for one in listed})


def _operations(paths: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, item in paths.items():
        yield from ((path, method, item[method]) for method in METHODS if method in item)


class _Reader:
    def __init__(self, described: Mapping[str, Any]) -> None:
        self._sampler = Sampler(described["components"]["schemas"])
        self._responses: Mapping[str, Any] = described["components"]["responses"]

    def operation(self, path: str, method: str, operation: Mapping[str, Any]) -> Operation:
        status, success = next((code, one) for code, one in self._answers(operation) if code < "3")
        schema = success.get("content", {}).get(JSON, {}).get("schema")
        parameters = operation.get("parameters", [])
        call = ExampleCall(
            method=method.upper(),
            url=f"{settings.BASE_URL}{_filled(path, parameters)}",
            query={one["name"]: self._value(one) for one in parameters if one["in"] == "query" and one.get("required")},
            body=self._body(operation),
            needs_token=operation.get("security") != [{}],
            answers=next(iter(success.get("content", {})), None),
        )
        answer = json.dumps(self._sampler.sample(schema), ensure_ascii=False, indent=2) if schema else ""
        told = {"examples": calls.examples(call), "received": "", "success": status, "answer": answer}
        return self._told(path, method, operation, **told)

    def event(self, name: str, method: str, operation: Mapping[str, Any]) -> Operation:
        received = json.dumps(self._body(operation), ensure_ascii=False, indent=2)
        return self._told(name, method, operation, examples=[], received=received, success="2XX", answer="")

    def _told(self, path: str, method: str, operation: Mapping[str, Any], **shown: Any) -> Operation:
        content = operation.get("requestBody", {}).get("content", {})
        schema = next(iter(content.values()))["schema"] if content else None
        return Operation(
            id=operation["operationId"],
            method=method.upper(),
            path=path,
            summary=operation["summary"].replace("`", ""),
            about=prose.html(operation.get("description", "")),
            parameters=[self._parameter(one) for one in operation.get("parameters", [])],
            body=list(self._fields(schema)) if schema else [],
            size=operation.get("requestBody", {}).get("description", ""),
            refusals=[code for code, _ in self._answers(operation) if code >= "4"],
            **shown,
        )

    def _answers(self, operation: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
        named = operation["responses"].items()
        return [
            (code, self._responses[one["$ref"].rpartition("/")[2]] if "$ref" in one else one) for code, one in named
        ]

    def _body(self, operation: Mapping[str, Any]) -> Any:
        """The example of the operation, else of its schema, else the smallest body that it accepts."""
        content = operation.get("requestBody", {}).get("content", {}).get(JSON)
        if content is None:
            return calls.NEVER
        given = next(iter(content.get("examples", {}).values()), None)
        return given["value"] if given else self._sampler.sample(content["schema"], only_required=True)

    def _value(self, parameter: Mapping[str, Any]) -> Any:
        return parameter.get("example", self._sampler.sample(parameter["schema"]))

    def _parameter(self, one: Mapping[str, Any]) -> Field:
        kind = f"{one['in']}, {self._kind(one['schema'])}"
        if one["name"] == shown_fields.PARAMETER:  # every read takes it, and the first page of the reference tells it
            return Field(one["name"], kind, bool(one.get("required")), SafeString(""))
        return Field(one["name"], kind, bool(one.get("required")), prose.html(one.get("description", "")))

    def _fields(self, schema: Schema, *, before: str = "", depth: int = 0) -> Iterator[Field]:
        """The fields of an object, each followed by the fields of the object inside it."""
        full = self._sampler.resolved(schema)
        for name, inner in full.get("properties", {}).items():
            about = prose.html(inner.get("description", ""))
            yield Field(f"{before}{name}", self._kind(inner), name in full.get("required", []), about)
            within = self._sampler.resolved(inner)
            listed = self._sampler.resolved(within.get("items", {})) if kind_of(within) == "array" else within
            if depth < NESTED and listed.get("properties"):
                dots = "[]." if listed is not within else "."
                yield from self._fields(listed, before=f"{before}{name}{dots}", depth=depth + 1)

    def _kind(self, schema: Schema) -> str:
        full = self._sampler.resolved(schema)
        if values := [str(one) for one in full.get("enum", []) if one not in {None, ""}]:
            kind = f"one of {', '.join(values)}"
        elif kind_of(full) == "array":
            kind = f"list of {self._kind(full.get('items', {}))}"
        else:
            kind = f"{kind_of(full)}{' (' + full['format'] + ')' if 'format' in full else ''}"
        return f"{kind}, or null" if _may_be_null(schema) or _may_be_null(full) else kind


def _may_be_null(schema: Schema) -> bool:
    alternatives = [*schema.get("oneOf", ()), *schema.get("anyOf", ())]
    return "null" in schema.get("type", ()) or any(one.get("type") == "null" for one in alternatives)


def _filled(path: str, parameters: list[Mapping[str, Any]]) -> str:
    """The path with an example value for each placeholder."""
    schemas = {one["name"]: one["schema"] for one in parameters if one["in"] == "path"}
    words = path.split("/")
    for place, word in enumerate(words):
        if word.startswith("{"):
            choices = schemas[word.strip("{}")].get("enum")
            words[place] = choices[0] if choices else IN_PATHS[words[place - 1]]
    return "/".join(words)
