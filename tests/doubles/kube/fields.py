"""The fields of an object that somebody owns, as paths and in the format of `managedFields`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.doubles.kube import schema
from tests.doubles.kube.resources import Object, Resource

Step = str  # `f:<field>`, `k:<keys of a list's item>` or `v:<value of a set>`
Path = tuple[Step, ...]
Leaves = dict[Path, Any]

# Fields without an owner: set by the server, or part of the object's identity.
_SERVERS = {
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
}
_ITEM = "."  # the item of a list itself, beside its fields


def leaves(resource: Resource, obj: Object) -> Leaves:
    """Each field that is owned as a whole, with its value: values, atomic lists and maps, and items of lists."""
    root = schema.schema_of(resource)
    found: Leaves = {}
    for name, value in obj.items():
        if name in {"apiVersion", "kind", "status"}:
            continue
        if name == "metadata":
            found.update(_leaves(schema.child(root, name), _ours(value), (f"f:{name}",)))
        else:
            found.update(_leaves(schema.child(root, name), value, (f"f:{name}",)))
    return found


def _ours(metadata: Object) -> Object:
    return {name: value for name, value in metadata.items() if name not in _SERVERS}


def _leaves(node: schema.Schema, value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict) and value and node.get("x-kubernetes-map-type") != "atomic":
        for name, part in value.items():
            yield from _leaves(schema.child(node, name), part, (*path, f"f:{name}"))
    elif isinstance(value, list) and (steps := list_steps(node, value)) is not None:
        for step, part in zip(steps, value, strict=True):
            yield (*path, step, _ITEM), part if step.startswith("v:") else None
            if isinstance(part, dict):
                yield from _leaves(schema.items(node), part, (*path, step))
    else:
        yield path, value


def list_steps(node: schema.Schema, value: list[Any]) -> list[Step] | None:
    """The names of a list's items; None for a list that is owned as a whole."""
    if node.get("x-kubernetes-list-type") == "set":
        return [f"v:{_text(part)}" for part in value]
    keys = map_keys(node)
    return [item_step(keys, part) for part in value] if keys else None


def map_keys(node: schema.Schema) -> list[str]:
    if node.get("x-kubernetes-list-type") != "map":
        return []
    keys: list[str] = node["x-kubernetes-list-map-keys"]
    return keys


def item_step(keys: list[str], item: Object) -> Step:
    # Only the key `protocol` may be left out, and its default is always TCP.
    named = {key: item.get(key, "TCP" if key == "protocol" else None) for key in sorted(keys)}
    return f"k:{_text(named)}"


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def encode(paths: set[Path]) -> Object:
    tree: Object = {}
    for path in sorted(paths):
        node = tree
        for step in path:
            node = node.setdefault(step, {})
    return tree


def decode(tree: Object) -> set[Path]:
    return set(_decoded(tree, ()))


def _decoded(tree: Object, path: Path) -> Iterator[Path]:
    for step, below in tree.items():
        if below:
            yield from _decoded(below, (*path, step))
        else:
            yield (*path, step)


def without(resource: Resource, obj: Object, paths: set[Path]) -> Object:
    """The object without these fields, and without parts that become empty."""
    root = schema.schema_of(resource)
    kept: Object = {}
    for name, value in obj.items():
        below = {path[1:] for path in paths if path[0] == f"f:{name}"}
        rest = _without(schema.child(root, name), value, below)
        if rest is not None:
            kept[name] = rest
    return kept


def _without(node: schema.Schema, value: Any, paths: set[Path]) -> Any:
    """The value without these paths; None when nothing is left."""
    if not paths:
        return value
    if () in paths:
        return None
    if isinstance(value, dict):
        kept = {
            name: _without(schema.child(node, name), part, _below(paths, f"f:{name}")) for name, part in value.items()
        }
        return {name: part for name, part in kept.items() if part is not None} or None
    if isinstance(value, list):
        return _list_without(node, value, paths)
    return value


def _list_without(node: schema.Schema, value: list[Any], paths: set[Path]) -> Any:
    steps = list_steps(node, value)
    if steps is None:
        return value
    kept = []
    for step, part in zip(steps, value, strict=True):
        below = _below(paths, step)
        if (_ITEM,) in below:
            continue
        kept.append(_without(schema.items(node), part, below))
    return [part for part in kept if part is not None] or None


def _below(paths: set[Path], step: Step) -> set[Path]:
    return {path[1:] for path in paths if path and path[0] == step}
