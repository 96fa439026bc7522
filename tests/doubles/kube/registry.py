"""Writes objects as the API server does: defaults, validation, admission, versions, finalizers, graceful deletion."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from tests.doubles.kube import admission, apply, defaults, schema
from tests.doubles.kube.failures import Failure, conflict, details, exists, not_found
from tests.doubles.kube.resources import BY_KIND, Object, Resource
from tests.doubles.kube.store import Store, place
from tests.doubles.kube.times import now

_UNVERSIONED = {
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "ResourceQuota",
    "LimitRange",
    "Service",
}
_SERVERS = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds")
Revision = Callable[[Object], Object | None]
# Arguments: operation, the object after the change, the object before.
Judge = Callable[[str, Object | None, Object | None], None]


def _lets_all(operation: str, new: Object | None, old: Object | None) -> None:
    """A judge that allows everything."""


class Registry:
    def __init__(self, store: Store) -> None:
        self.store = store

    def get(self, resource: Resource, namespace: str, name: str) -> Object:
        found = self.store.get(resource.kind, namespace, name)
        if found is None:
            raise not_found(resource, name)
        return found

    def create(
        self, resource: Resource, obj: Object, *, manager: str = "", dry: bool = False, judge: Judge = _lets_all
    ) -> Object:
        with self.store.changed:
            obj = _new(resource, obj)
            namespace, name = place(obj)
            self._refuse_existing(resource, namespace, name)
            if manager:
                unowned = {**obj, "metadata": {**obj["metadata"], "managedFields": []}}
                nothing: Object = {"metadata": {}}
                obj = apply.updated(resource, nothing, unowned, manager=manager)
            return self._add(resource, obj, dry=dry, judge=judge)

    def _refuse_existing(self, resource: Resource, namespace: str, name: str) -> None:
        found = self.store.get(resource.kind, namespace, name)
        if found:
            is_going = "deletionTimestamp" in found["metadata"]
            raise exists(resource, name, deleted=is_going and resource.kind == "Namespace")

    def _add(self, resource: Resource, obj: Object, *, dry: bool, judge: Judge) -> Object:
        schema.validate(resource, obj)
        obj = defaults.fill(obj)
        obj = admission.admit(self.store, resource, obj)
        defaults.check(resource, obj, None)
        judge("CREATE", obj, None)
        return obj if dry else self.store.put(resource.kind, obj)

    def apply(
        self,
        resource: Resource,
        intent: Object,
        *,
        manager: str,
        force: bool,
        dry: bool = False,
        judge: Judge = _lets_all,
    ) -> Object:
        """Apply, and return the object. As in the real server, only its `generation` and version show if it is new."""
        with self.store.changed:
            schema.validate(resource, intent)
            if "managedFields" in intent["metadata"]:
                raise Failure(400, "metadata.managedFields must be nil")
            namespace, name = place(intent)
            live = self.store.get(resource.kind, namespace, name)
            if live is None:
                return self._add_applied(resource, intent, manager=manager, dry=dry, judge=judge)
            _check_version(resource, intent, live)
            wanted = apply.apply(resource, live, intent, manager=manager, force=force)
            return self._change(resource, live, wanted, dry=dry, judge=judge)

    def _add_applied(self, resource: Resource, intent: Object, *, manager: str, dry: bool, judge: Judge) -> Object:
        if intent["metadata"].get("uid"):
            raise conflict(resource, intent["metadata"]["name"], "uid mismatch: the object does not exist")
        obj = _new(resource, _without_version(intent))
        empty = {**obj, "metadata": {**obj["metadata"], "managedFields": []}}
        made = apply.apply(resource, empty, intent, manager=manager, force=True)
        return self._add(resource, made, dry=dry, judge=judge)

    def replace(
        self,
        resource: Resource,
        obj: Object,
        *,
        manager: str,
        subresource: str = "",
        dry: bool = False,
        judge: Judge = _lets_all,
    ) -> Object:
        with self.store.changed:
            live = self.get(resource, *place(obj))
            _check_version(resource, obj, live)
            _check_uid(resource, obj, live)
            if subresource == "status":
                wanted = {**live, "status": obj.get("status", {})}
                return self._change(resource, live, wanted, dry=dry, status=True, judge=judge)
            wanted = _with_servers(obj, live)
            schema.validate(resource, wanted)
            owned = apply.updated(resource, live, defaults.fill(wanted), manager=manager, subresource=subresource)
            return self._change(resource, live, owned, dry=dry, judge=judge)

    def _change(
        self,
        resource: Resource,
        live: Object,
        wanted: Object,
        *,
        dry: bool = False,
        status: bool = False,
        judge: Judge = _lets_all,
    ) -> Object:
        """Write the object, if it differs. Without a difference there is no new version."""
        wanted = wanted if status else _with_servers(defaults.fill(wanted), live)
        if not status:
            schema.validate(resource, wanted)
            defaults.check(resource, wanted, live)
        judge("UPDATE", wanted, live)
        if wanted == live:
            return live
        wanted = wanted if status else _next_generation(wanted, live)
        return wanted if dry else self._keep(resource, wanted)

    def _keep(self, resource: Resource, wanted: Object) -> Object:
        """Store the object. An object that is being deleted disappears with its last finalizer."""
        kept = self.store.put(resource.kind, wanted)
        if _is_free(kept):
            return self.store.remove(resource.kind, kept)
        return kept

    def put(self, resource: Resource, obj: Object) -> Object:
        """Store the object without any checks, and add the fields that every object needs."""
        with self.store.changed:
            live = self.store.get(resource.kind, *place(obj))
            metadata = {"uid": str(uuid.uuid4()), "creationTimestamp": now(), **(live["metadata"] if live else {})}
            return self.store.put(resource.kind, {**obj, "metadata": {**metadata, **obj["metadata"]}})

    def revise(self, kind: str, namespace: str, name: str, revision: Revision) -> Object | None:
        """A write by the cluster's own parts, without validation. None or an equal object means no change."""
        with self.store.changed:
            live = self.store.get(kind, namespace, name)
            wanted = revision(live) if live else None
            if live is None or wanted is None or wanted == live:
                return live
            return self._keep(BY_KIND[kind], wanted)

    def set_status(self, kind: str, obj: Object, **status: Any) -> None:
        namespace, name = place(obj)
        uid = obj["metadata"]["uid"]

        def revision(live: Object) -> Object | None:
            if live["metadata"]["uid"] != uid:
                return None
            return {**live, "status": {**live.get("status", {}), **status}}

        self.revise(kind, namespace, name, revision)

    def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        options: Object | None = None,
        *,
        judge: Judge = _lets_all,
    ) -> Object:
        """Delete the object. Returns the object if something keeps it, else a `Status` of success."""
        options = options or {}
        with self.store.changed:
            live = self.get(resource, namespace, name)
            _check_preconditions(resource, live, options.get("preconditions") or {})
            judge("DELETE", None, live)
            if options.get("propagationPolicy") == "Orphan" or options.get("orphanDependents"):
                self._orphan(live)
            marked = _marked(live, options)
            if marked == live or options.get("dryRun"):
                return live
            if _is_free(marked):
                self.store.remove(resource.kind, live)
                return _success(resource, live)
            return self.store.put(resource.kind, marked)

    def _orphan(self, owner: Object) -> None:
        uid = owner["metadata"]["uid"]
        for kind in ("ReplicaSet", "Pod"):
            for obj in self.store.all(kind, owner["metadata"].get("namespace", "")):
                owners = obj["metadata"].get("ownerReferences", [])
                rest = [reference for reference in owners if reference["uid"] != uid]
                if rest != owners:
                    self.store.put(kind, {**obj, "metadata": {**obj["metadata"], "ownerReferences": rest}})

    def event(self, about: Object, reason: str, message: str, *, type: str = "Warning", source: str = "") -> None:
        """Record an event; repeating the same event increases its count."""
        namespace = about["metadata"].get("namespace", "default")
        key = (about["metadata"]["uid"], reason, message)
        for found in self.store.all("Event", namespace):
            if (found["involvedObject"].get("uid"), found["reason"], found["message"]) == key:
                again = {**found, "count": found["count"] + 1, "lastTimestamp": now()}
                self.store.put("Event", again)
                return
        self.store.put("Event", _event(about, namespace, reason, message, type, source))


def _event(about: Object, namespace: str, reason: str, message: str, type: str, source: str) -> Object:
    metadata = about["metadata"]
    at = now()
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{metadata['name']}.{uuid.uuid4().hex[:16]}",
            "namespace": namespace,
            "uid": str(uuid.uuid4()),
            "creationTimestamp": at,
        },
        "involvedObject": {
            "apiVersion": about["apiVersion"],
            "kind": about["kind"],
            "name": metadata["name"],
            "namespace": metadata.get("namespace", ""),
            "uid": metadata["uid"],
        },
        "reason": reason,
        "message": message,
        "type": type,
        "source": {"component": source},
        "reportingComponent": source,
        "reportingInstance": "",
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }


def _new(resource: Resource, obj: Object) -> Object:
    given = obj["metadata"]
    metadata = {name: value for name, value in given.items() if name not in {*_SERVERS, "resourceVersion"}}
    if given.get("resourceVersion"):
        raise Failure(400, "resourceVersion should not be set on objects to be created")
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = f"{metadata['generateName']}{uuid.uuid4().hex[:5]}"
    if not metadata.get("name"):
        raise Failure(
            422, f'{resource.kind} "" is invalid: metadata.name: Required value: name or generateName is required'
        )
    if (finalizer := defaults.FINALIZERS.get(resource.kind)) and finalizer not in metadata.get("finalizers", []):
        metadata["finalizers"] = [*metadata.get("finalizers", []), finalizer]
    metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": now()}
    if "spec" in obj and resource.kind not in _UNVERSIONED:
        metadata["generation"] = 1
    fresh = {**obj, "metadata": metadata}
    if resource.kind == "Namespace":
        fresh["spec"] = {**(obj.get("spec") or {}), "finalizers": ["kubernetes"]}
    if resource.kind != "Node":
        fresh.pop("status", None)
    return fresh


def _without_version(intent: Object) -> Object:
    """Without the version: an apply with the version of a deleted object creates it again, as in the real server."""
    metadata = {name: value for name, value in intent["metadata"].items() if name != "resourceVersion"}
    return {**intent, "metadata": metadata}


def _with_servers(obj: Object, live: Object) -> Object:
    """`obj` with the fields that only the server sets. Status is written only through its subresource."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _SERVERS}
    old = live["metadata"]
    metadata |= {name: old[name] for name in (*_SERVERS, "resourceVersion") if name in old}
    wanted = {**obj, "metadata": {name: value for name, value in metadata.items() if value not in (None, {}, [])}}
    wanted.pop("status", None)
    if live["kind"] == "Namespace":  # only `finalize` changes the finalizers of a namespace's spec
        wanted["spec"] = {**(wanted.get("spec") or {}), "finalizers": live["spec"].get("finalizers", [])}
    return {**wanted, "status": live["status"]} if "status" in live else wanted


def _next_generation(wanted: Object, live: Object) -> Object:
    generation = live["metadata"].get("generation")
    if generation is None or wanted.get("spec") == live.get("spec"):
        return wanted
    return {**wanted, "metadata": {**wanted["metadata"], "generation": generation + 1}}


def _check_version(resource: Resource, obj: Object, live: Object) -> None:
    version = obj["metadata"].get("resourceVersion")
    if version and version != live["metadata"]["resourceVersion"]:
        why = "the object has been modified; please apply your changes to the latest version and try again"
        raise conflict(resource, live["metadata"]["name"], why)


def _check_uid(resource: Resource, obj: Object, live: Object) -> None:
    uid, found = obj["metadata"].get("uid"), live["metadata"]["uid"]
    if uid and uid != found:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {found}"
        raise conflict(resource, live["metadata"]["name"], why)


def _check_preconditions(resource: Resource, live: Object, wanted: Object) -> None:
    for name in ("uid", "resourceVersion"):
        asked, found = wanted.get(name), live["metadata"][name]
        if asked and asked != found:
            label = "UID" if name == "uid" else "ResourceVersion"
            why = f"Precondition failed: {label} in precondition: {asked}, {label} in object meta: {found}"
            raise conflict(resource, live["metadata"]["name"], why)


def _marked(live: Object, options: Object) -> Object:
    """The object, marked as being deleted."""
    metadata = dict(live["metadata"])
    metadata.setdefault("deletionTimestamp", now())
    if options.get("propagationPolicy") == "Foreground" and "foregroundDeletion" not in metadata.get("finalizers", []):
        metadata["finalizers"] = [*metadata.get("finalizers", []), "foregroundDeletion"]
    marked = {**live, "metadata": metadata}
    if live["kind"] == "Pod":
        metadata["deletionGracePeriodSeconds"] = _grace(live, options)
    else:
        metadata["deletionGracePeriodSeconds"] = 0
    if live["kind"] == "Namespace":
        marked["status"] = {**live.get("status", {}), "phase": "Terminating"}
    return marked


def _grace(pod: Object, options: Object) -> int:
    """The grace period in seconds. A second deletion may only shorten it; it is 0 for a pod that is not running."""
    if not pod["spec"].get("nodeName") or pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}:
        return 0
    asked = options.get("gracePeriodSeconds")
    seconds = int(pod["spec"]["terminationGracePeriodSeconds"] if asked is None else asked)
    return min(seconds, int(pod["metadata"].get("deletionGracePeriodSeconds", seconds)))


def _is_free(obj: Object) -> bool:
    """Whether an object that is being deleted may disappear now."""
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
        return False
    is_waited_for = obj["kind"] == "Namespace" and obj.get("spec", {}).get("finalizers")
    return not is_waited_for and not metadata.get("deletionGracePeriodSeconds")


def _success(resource: Resource, obj: Object) -> Object:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details(resource, obj["metadata"]["name"], uid=obj["metadata"]["uid"]),
    }
