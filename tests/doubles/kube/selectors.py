"""Label and field selectors for lists and watches."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.doubles.kube.failures import Failure
from tests.doubles.kube.resources import Object

Selector = Callable[[Object], bool]

_SPLIT = re.compile(r",(?![^(]*\))")  # a comma outside of a set's brackets
_SET = re.compile(r"^(\S+)\s+(in|notin)\s*\(([^)]*)\)$")
_EQUAL = re.compile(r"^([^=!\s]+)\s*(==|=|!=)\s*([^\s]*)$")
_FIELDS = {
    "Pod": {"spec.nodeName", "status.phase", "status.podIP", "spec.restartPolicy"},
    "Namespace": {"status.phase"},
    "Secret": {"type"},
    "Event": {
        "involvedObject.kind",
        "involvedObject.name",
        "involvedObject.namespace",
        "involvedObject.uid",
        "reason",
        "type",
    },
}


def selector(kind: str, labels: str, fields: str) -> Selector:
    tests = [_label(part.strip()) for part in _SPLIT.split(labels) if part.strip()]
    tests += [_field(kind, part.strip()) for part in fields.split(",") if part.strip()]
    return lambda obj: all(test(obj) for test in tests)


def _label(text: str) -> Selector:
    if found := _SET.match(text):
        key, operator, listed = found.groups()
        values = {value.strip() for value in listed.split(",")}
        return lambda obj: (_labels(obj).get(key) in values) == (operator == "in")
    if found := _EQUAL.match(text):
        key, operator, value = found.groups()
        return lambda obj: (_labels(obj).get(key) == value) == (operator != "!=")
    if text.startswith("!"):
        return lambda obj: text[1:].strip() not in _labels(obj)
    if " " in text:
        raise Failure(400, f"unable to parse requirement: {text!r}")
    return lambda obj: text in _labels(obj)


def _labels(obj: Object) -> dict[str, str]:
    labels: dict[str, str] = obj["metadata"].get("labels") or {}
    return labels


def _field(kind: str, text: str) -> Selector:
    found = _EQUAL.match(text)
    if not found:
        raise Failure(400, f"invalid selector: {text!r}; can't understand {text!r}")
    path, operator, value = found.groups()
    if path not in _FIELDS.get(kind, set()) | {"metadata.name", "metadata.namespace"}:
        raise Failure(400, f"field label not supported: {path}")
    return lambda obj: (str(_at(obj, path)) == value) == (operator != "!=")


def _at(obj: Any, path: str) -> Any:
    for name in path.split("."):
        obj = obj.get(name, "") if isinstance(obj, dict) else ""
    return obj
