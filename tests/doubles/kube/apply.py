"""Server-side apply and merge patches, and the owners of fields afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.doubles.kube import fields, schema
from tests.doubles.kube.failures import Failure, details
from tests.doubles.kube.fields import Path
from tests.doubles.kube.resources import Object, Resource
from tests.doubles.kube.times import now

Managers = dict[tuple[str, str, str], set[Path]]  # name, operation and subresource
_APPLY, _UPDATE = "Apply", "Update"


def apply(resource: Resource, live: Object, intent: Object, *, manager: str, force: bool) -> Object:
    """`live` after `manager` applies `intent`; equal to `live` when nothing changes."""
    wanted = fields.leaves(resource, intent)
    owners = managers_of(live)
    key = (manager, _APPLY, "")
    _settle(resource, live, wanted, owners, key, force=force)
    before = owners.get(key, set())
    dropped = before - set(wanted)
    others = set[Path]().union(*(paths for owner, paths in owners.items() if owner != key))
    merged = merge(schema.schema_of(resource), live, _without_identity(intent))
    result = fields.without(resource, merged, dropped - others)
    owners[key] = set(wanted)
    return _owned(result, live, owners)


def _settle(
    resource: Resource, live: Object, wanted: fields.Leaves, owners: Managers, key: tuple[str, str, str], *, force: bool
) -> None:
    """Take over fields of other owners that we want to change. Without `force`, raise a conflict instead."""
    found = fields.leaves(resource, live)
    differing = {path for path, value in wanted.items() if path[-1] != "." and path in found and found[path] != value}
    disputed = {owner: paths & differing for owner, paths in owners.items() if owner != key and paths & differing}
    if disputed and not force:
        raise _conflict(resource, str(live["metadata"]["name"]), disputed)
    for owner, paths in disputed.items():
        owners[owner] = owners[owner] - paths


def _conflict(resource: Resource, name: str, disputed: Managers) -> Failure:
    causes = [
        {"reason": "FieldManagerConflict", "message": f'conflict with "{owner[0]}"', "field": _readable(path)}
        for owner, paths in disputed.items()
        for path in sorted(paths)
    ]
    listed = "\n".join(f"{cause['message']}: {cause['field']}" for cause in causes)
    plural = "s" if len(causes) > 1 else ""
    message = f"Apply failed with {len(causes)} conflict{plural}: {listed}"
    return Failure(409, message, details=details(resource, name, causes=causes))


def _readable(path: Path) -> str:
    return "".join(f".{step[2:]}" if step.startswith("f:") else f"[{step[2:]}]" for step in path)


def updated(resource: Resource, live: Object, wanted: Object, *, manager: str, subresource: str = "") -> Object:
    """`wanted`, where this manager owns each changed field."""
    before, after = fields.leaves(resource, live), fields.leaves(resource, wanted)
    changed = {path for path, value in after.items() if path not in before or before[path] != value}
    owners = {owner: (paths - changed) & set(after) for owner, paths in managers_of(live).items()}
    key = (manager, _UPDATE, subresource)
    owners[key] = owners.get(key, set()) | changed
    return _owned(wanted, live, owners)


def managers_of(obj: Object) -> Managers:
    return {
        (entry["manager"], entry["operation"], entry.get("subresource", "")): fields.decode(entry["fieldsV1"])
        for entry in obj["metadata"].get("managedFields", [])
    }


def _owned(result: Object, live: Object, owners: Managers) -> Object:
    metadata = {name: value for name, value in result["metadata"].items() if name != "managedFields"}
    times = {_owner(entry): entry for entry in live["metadata"].get("managedFields", [])}
    entries = [_entry(result, owner, paths, times.get(owner)) for owner, paths in owners.items() if paths]
    return {**result, "metadata": {**metadata, "managedFields": entries}}


def _owner(entry: Object) -> tuple[str, str, str]:
    return entry["manager"], entry["operation"], entry.get("subresource", "")


def _entry(obj: Object, owner: tuple[str, str, str], paths: set[Path], old: Object | None) -> Object:
    encoded = fields.encode(paths)
    if old and old["fieldsV1"] == encoded:
        return old
    manager, operation, subresource = owner
    entry: Object = {
        "manager": manager,
        "operation": operation,
        "apiVersion": obj["apiVersion"],
        "time": now(),
        "fieldsType": "FieldsV1",
        "fieldsV1": encoded,
    }
    return {**entry, "subresource": subresource} if subresource else entry


def _without_identity(intent: Object) -> Object:
    metadata = {name: value for name, value in intent["metadata"].items() if name not in {"managedFields", "uid"}}
    return {**{name: value for name, value in intent.items() if name != "status"}, "metadata": metadata}


def merge(node: schema.Schema, live: Any, intent: Any) -> Any:
    """`live` with the fields of `intent`; lists with named items are merged by name."""
    if isinstance(live, dict) and isinstance(intent, dict) and node.get("x-kubernetes-map-type") != "atomic":
        merged = {name: merge(schema.child(node, name), live.get(name), value) for name, value in intent.items()}
        return {**live, **merged}
    if isinstance(live, list) and isinstance(intent, list):
        return _merged_list(node, live, intent)
    return intent


def _merged_list(node: schema.Schema, live: list[Any], intent: list[Any]) -> list[Any]:
    wanted = fields.list_steps(node, intent)
    found = fields.list_steps(node, live)
    if wanted is None or found is None:
        return intent
    by_step: Mapping[str, Any] = dict(zip(found, live, strict=True))
    merged = [merge(schema.items(node), by_step.get(step), part) for step, part in zip(wanted, intent, strict=True)]
    return merged + [by_step[step] for step in found if step not in wanted]


def merge_patch(live: Any, patch: Any) -> Any:
    """A merge patch as in RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(live) if isinstance(live, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), value)
    return result


def strategic_patch(node: schema.Schema, live: Any, patch: Any) -> Any:
    """A strategic merge patch, which merges lists with named items. The official client sends this form by default."""
    if isinstance(patch, dict):
        result = dict(live) if isinstance(live, dict) else {}
        for name, value in patch.items():
            if value is None:
                result.pop(name, None)
            else:
                result[name] = strategic_patch(schema.child(node, name), result.get(name), value)
        return result
    if isinstance(live, list) and isinstance(patch, list):
        return _merged_list(node, live, patch)
    return patch
