"""API requests for objects: from path, query and body to an answer."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from tests.doubles.kube import apply, defaults, schema
from tests.doubles.kube.access import ClusterAccess
from tests.doubles.kube.failures import Failure, expired, no_such_path
from tests.doubles.kube.policies import Deed, Policies
from tests.doubles.kube.registry import Judge, Registry
from tests.doubles.kube.resources import Object, ResourceTarget
from tests.doubles.kube.selectors import selector
from tests.doubles.kube.store import StoreSnapshot, objects, place

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
SUBRESOURCES = {
    "Namespace": {"status", "finalize"},
    "Deployment": {"status", "scale"},
    "ReplicaSet": {"status", "scale"},
    "Node": {"status", "proxy"},
}
_ONLY_METADATA = "as=PartialObjectMetadata"


@dataclass(frozen=True, slots=True)
class ApiRequest:
    method: str
    target: ResourceTarget
    query: dict[str, str] = field(default_factory=dict)
    content_type: str = ""
    accept: str = ""
    agent: str = ""
    body: bytes = b""

    @property
    def manager(self) -> str:
        return self.query.get("fieldManager") or self.agent.partition("/")[0] or "unknown"

    @property
    def dry(self) -> bool:
        return self.query.get("dryRun") == "All"

    def verb(self) -> str:
        """The verb in RBAC rules."""
        if self.method == "GET":
            if self.query.get("watch") in {"true", "1"}:
                return "watch"
            return "get" if self.target.name else "list"
        if self.method == "DELETE":
            return "delete" if self.target.name else "deletecollection"
        return {"POST": "create", "PUT": "update", "PATCH": "patch"}[self.method]

    def document(self) -> Object:
        try:
            text = self.body.decode()
            found = yaml.safe_load(text) if "yaml" in self.content_type and text[:1] != "{" else json.loads(text)
        except (ValueError, yaml.YAMLError) as error:
            raise Failure(400, f"error decoding the body: {error}") from error
        if not isinstance(found, dict):
            raise Failure(400, "the body is not an object")
        return found


@dataclass
class Api:
    registry: Registry
    access: ClusterAccess
    policies: Policies
    stale: StoreSnapshot | None = None

    def answer(self, request: ApiRequest, account: str) -> tuple[int, Any]:
        """The HTTP status and the document (or its bytes)."""
        target = request.target
        if target.subresource and target.subresource not in SUBRESOURCES.get(target.resource.kind, {"status"}):
            raise no_such_path()
        self.access.check(account, request.verb(), target)
        reads: dict[str, Callable[[ApiRequest], tuple[int, Any]]] = {"get": self._get, "list": self._list}
        writes: dict[str, Callable[[ApiRequest, str], tuple[int, Any]]] = {
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_all,
        }
        verb = request.verb()
        return reads[verb](request) if verb in reads else writes[verb](request, account)

    def judge(self, account: str, target: ResourceTarget) -> Judge:
        """The check of RBAC and admission policies for changes by this account."""

        def judged(operation: str, new: Object | None, old: Object | None) -> None:
            obj = new or old or {}
            named = replace(target, name=target.name or obj.get("metadata", {}).get("name", ""))
            if target.resource.kind == "RoleBinding" and new:
                self.access.check_binding(account, new)
            is_inside = target.resource.namespaced and target.namespace
            home = self.registry.store.get("Namespace", "", target.namespace) if is_inside else None
            self.policies.check(Deed(account, operation, named, new, old, home))

        return judged

    def _get(self, request: ApiRequest) -> tuple[int, Any]:
        target = request.target
        found = self.registry.get(target.resource, target.namespace, target.name)
        return 200, scale_of(found) if target.subresource == "scale" else found

    def _list(self, request: ApiRequest) -> tuple[int, Any]:
        query, resource = request.query, request.target.resource
        wanted = selector(resource.kind, query.get("labelSelector", ""), query.get("fieldSelector", ""))
        with self.registry.store.changed:
            snapshot = self.stale
            version = snapshot.version if snapshot else self.registry.store.version
            kinds = snapshot.kinds if snapshot else self.registry.store._kinds
            found = [obj for obj in objects(kinds, resource.kind, request.target.namespace) if wanted(obj)]
        metadata: Object = {"resourceVersion": str(version)}
        found = self._page(found, query, metadata)
        if _ONLY_METADATA in request.accept:
            return 200, _partial(found, metadata)
        head = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": metadata}
        return 200, {**head, "items": found if resource.custom else [_untold(obj) for obj in found]}

    def _page(self, found: list[Object], query: dict[str, str], metadata: Object) -> list[Object]:
        if token := query.get("continue"):
            version, after = _token(token)
            if version < self.registry.store.oldest:
                raise expired(version, self.registry.store.oldest)
            metadata["resourceVersion"] = str(version)
            found = [obj for obj in found if list(place(obj)) > after]
        # The real server answers these lists from its cache, without paging.
        is_cached = query.get("resourceVersion") == "0"
        limit = 0 if is_cached else int(query.get("limit") or 0)
        if 0 < limit < len(found):
            after = list(place(found[limit - 1]))
            text = json.dumps({"rv": int(metadata["resourceVersion"]), "after": after})
            metadata["continue"] = base64.urlsafe_b64encode(text.encode()).decode()
            metadata["remainingItemCount"] = len(found) - limit
            return found[:limit]
        return found

    def _create(self, request: ApiRequest, account: str) -> tuple[int, Any]:
        target = request.target
        if target.name:
            raise Failure(405, "the server does not allow this method on the requested resource")
        obj = self._placed(request, request.document())
        judge = self.judge(account, target)
        return 201, self.registry.create(target.resource, obj, manager=request.manager, dry=request.dry, judge=judge)

    def _placed(self, request: ApiRequest, obj: Object) -> Object:
        target = request.target
        defaults.matches_body(target.resource, obj, namespace=target.namespace, name=target.name)
        metadata = dict(obj["metadata"])
        if target.namespace:
            metadata["namespace"] = target.namespace
        if target.name:
            metadata["name"] = target.name
        return {**obj, "metadata": metadata}

    def _update(self, request: ApiRequest, account: str) -> tuple[int, Any]:
        target, document = request.target, request.document()
        if target.subresource == "scale":
            return 200, self._scale(request, document, account)
        if target.subresource == "finalize":
            return 200, self._finalize(request, document)
        return 200, self._replace(request, self._placed(request, document), account)

    def _replace(self, request: ApiRequest, obj: Object, account: str) -> Object:
        target = request.target
        return self.registry.replace(
            target.resource,
            obj,
            manager=request.manager,
            subresource=target.subresource,
            dry=request.dry,
            judge=self.judge(account, target),
        )

    def _finalize(self, request: ApiRequest, document: Object) -> Object:
        finalizers = (document.get("spec") or {}).get("finalizers") or []

        def revision(live: Object) -> Object:
            return {**live, "spec": {**live.get("spec", {}), "finalizers": finalizers}}

        name = request.target.name
        return self.registry.revise("Namespace", "", name, revision) or self.registry.get(
            request.target.resource, "", name
        )

    def _patch(self, request: ApiRequest, account: str) -> tuple[int, Any]:
        target = request.target
        if request.content_type == APPLY:
            return self._apply(request, account)
        live = self.registry.get(target.resource, target.namespace, target.name)
        patch = request.document()
        if target.subresource == "scale":
            return 200, self._scale(request, apply.merge_patch(scale_of(live), patch), account)
        if request.content_type == MERGE:
            wanted = apply.merge_patch(live, patch)
        elif request.content_type == STRATEGIC and not target.resource.custom:
            wanted = apply.strategic_patch(schema.schema_of(target.resource), live, patch)
        else:
            raise Failure(415, f"the body of the request was in an unknown format: {request.content_type}")
        if not patch.get("metadata", {}).get("resourceVersion"):
            wanted["metadata"] = {key: v for key, v in wanted["metadata"].items() if key != "resourceVersion"}
        return 200, self._replace(request, self._placed(request, wanted), account)

    def _apply(self, request: ApiRequest, account: str) -> tuple[int, Any]:
        target, query = request.target, request.query
        if not query.get("fieldManager"):
            raise Failure(
                422, 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'
            )
        if target.subresource:
            raise Failure(415, f"the double does not apply to {target.subresource}")
        intent = self._placed(request, request.document())
        with self.registry.store.changed:
            is_new = self.registry.store.get(target.resource.kind, target.namespace, target.name) is None
            if is_new:
                self.access.check(account, "create", target)
            force = query.get("force") in {"true", "True", "1"}
            applied = self.registry.apply(
                target.resource,
                intent,
                manager=request.manager,
                force=force,
                dry=request.dry,
                judge=self.judge(account, target),
            )
        return 201 if is_new else 200, applied

    def _scale(self, request: ApiRequest, scale: Object, account: str) -> Object:
        replicas = (scale.get("spec") or {}).get("replicas", 0)
        if not isinstance(replicas, int) or replicas < 0:
            raise Failure(422, f"spec.replicas: Invalid value: {replicas}: must be greater than or equal to 0")
        with self.registry.store.changed:
            target = request.target
            live = self.registry.get(target.resource, target.namespace, target.name)
            wanted = {**live, "spec": {**live["spec"], "replicas": replicas}}
            if version := scale.get("metadata", {}).get("resourceVersion"):
                wanted["metadata"] = {**live["metadata"], "resourceVersion": version}
            return scale_of(self._replace(request, wanted, account))

    def _delete(self, request: ApiRequest, account: str) -> tuple[int, Any]:
        target, judge = request.target, self.judge(account, request.target)
        options = _options(request)
        return 200, self.registry.delete(target.resource, target.namespace, target.name, options, judge=judge)

    def _delete_all(self, request: ApiRequest, account: str) -> tuple[int, Any]:
        (_, found), judge = self._list(request), self.judge(account, request.target)
        for obj in found["items"]:
            self.registry.delete(request.target.resource, *place(obj), _options(request), judge=judge)
        return 200, found


def _options(request: ApiRequest) -> Object:
    """The options of a deletion, from the body or the query."""
    options = request.document() if request.body else {}
    for name in ("propagationPolicy", "gracePeriodSeconds"):
        if name in request.query:
            options.setdefault(name, int(request.query[name]) if name.startswith("grace") else request.query[name])
    return {**options, "dryRun": ["All"]} if request.dry else options


def scale_of(workload: Object) -> Object:
    metadata = workload["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    labels = workload["spec"]["selector"].get("matchLabels") or {}
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in kept},
        "spec": {"replicas": workload["spec"].get("replicas", 0)},
        "status": {
            "replicas": workload.get("status", {}).get("replicas", 0),
            "selector": ",".join(f"{key}={value}" for key, value in labels.items()),
        },
    }


def _untold(obj: Object) -> Object:
    """Without kind and apiVersion: lists of built-in kinds have them once, and not in each object."""
    return {name: value for name, value in obj.items() if name not in {"kind", "apiVersion"}}


def _partial(found: list[Object], metadata: Object) -> Object:
    head = {"apiVersion": "meta.k8s.io/v1"}
    items = [{**head, "kind": "PartialObjectMetadata", "metadata": obj["metadata"]} for obj in found]
    return {**head, "kind": "PartialObjectMetadataList", "metadata": metadata, "items": items}


def _token(text: str) -> tuple[int, list[str]]:
    try:
        found = json.loads(base64.urlsafe_b64decode(text))
        return int(found["rv"]), list(found["after"])
    except (ValueError, KeyError, TypeError) as error:
        raise Failure(400, "continue key is not valid") from error
