"""A connection to a scripted API server, as a check needs it: it keeps what is applied and runs the check's programs.

A Deployment becomes a pod at once. How a caller's program ends depends on the network: `enforces` says whether the
network keeps policies.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from agents.clusters.api.client import ApiRefused, ClusterFailure, path_of
from agents.clusters.enforcement import BLOCKED, THROUGH

Json = dict[str, Any]

REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
STORAGE = "/apis/storage.k8s.io/v1/storageclasses"
INGRESSES = "/apis/networking.k8s.io/v1/ingressclasses"


class ScriptedCluster:
    def __init__(self) -> None:
        self.enforces = True
        self.connects = True  # whether callers connect if no policy is there
        self.ends_with: int | None = None
        self.waits_for = ""  # the reason why no pod starts
        self.away = False
        self.account = "kubernetes-admin"
        self.is_bounded = True  # whether a policy limits the chart's account to agents' namespaces
        self.forbidden: set[tuple[str, str]] = set()  # verb, and resource or resource/subresource
        self.documents: dict[str, Json] = {
            "/version": {"major": "1", "minor": "33+"},
            STORAGE: {"items": [_class("standard", default="storageclass.kubernetes.io/is-default-class")]},
            INGRESSES: {"items": [_class("nginx")]},
            "/apis/gateway.networking.k8s.io/v1": _resources("httproutes", "listenersets"),
            "/apis/cert-manager.io/v1": _resources("certificates"),
        }
        self.objects: dict[str, Json] = {}
        self.applied: list[Json] = []
        self.deleted: list[str] = []

    def get(self, path: str, query: Mapping[str, str] | None = None, *, seconds: float = 10.0) -> Json:
        self._answer()
        if path.endswith("/pods"):
            return {"items": self._pods(path.split("/")[-2], (query or {})["labelSelector"])}
        if path == "/api/v1/namespaces":
            return {"items": [body for body in self.objects.values() if body["kind"] == "Namespace"]}
        if path not in self.documents or ("list", path.rsplit("/", 1)[-1]) in self.forbidden:
            status = 403 if path in self.documents else 404
            raise ApiRefused("one", status, "", f"{path} is not for you")
        return self.documents[path]

    def find(self, path: str) -> Json | None:
        return self.documents.get(path)

    def post(self, path: str, body: Json) -> Json:
        self._answer()
        assert path == REVIEW
        asked = body["spec"]["resourceAttributes"]
        resource = "/".join(filter(None, (asked["resource"], asked.get("subresource"))))
        return {**body, "status": {"allowed": (asked["verb"], resource) not in self.forbidden}}

    def username(self) -> str:
        return self.account

    def apply(self, manifest: Json, *, dry: bool = False) -> Json:
        self._answer()
        if dry:
            if self.is_bounded:
                raise ApiRefused("one", 403, "Forbidden", "a policy denied the request")
            return manifest
        self.applied.append(manifest)
        metadata = {"creationTimestamp": datetime.now(UTC).isoformat(), **manifest["metadata"]}
        self.objects[path_of(manifest)] = {**manifest, "metadata": metadata}
        return manifest

    def delete(self, path: str, *, options: Json | None = None) -> None:
        self._answer()
        self.deleted.append(path)
        namespace = path.rsplit("/", 1)[-1]
        self.objects = {known: body for known, body in self.objects.items() if namespace not in known.split("/")}

    def _answer(self) -> None:
        if self.away:
            raise ClusterFailure("one", "it was not answered")

    def _pods(self, namespace: str, selector: str) -> list[Json]:
        name = selector.partition("=")[2]
        if f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}" not in self.objects:
            return []
        if self.waits_for:
            state: Json = {"waiting": {"reason": "ImagePullBackOff", "message": self.waits_for}}
            return [{"status": {"phase": "Pending", "containerStatuses": [{"state": state}]}}]
        if name == "listener":
            return [{"status": {"podIP": "10.1.2.3", "containerStatuses": [{"state": {"running": {}}}]}}]
        ended = {"terminated": {"exitCode": self._verdict(namespace)}}
        again = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ended}
        return [{"status": {"containerStatuses": [again if self.enforces else {"state": ended}]}}]

    def _verdict(self, namespace: str) -> int:
        policy = f"/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies/deny-all" in self.objects
        if self.ends_with is not None:
            return self.ends_with
        return THROUGH if self.connects and not (policy and self.enforces) else BLOCKED


def _class(name: str, *, default: str = "") -> Json:
    return {"metadata": {"name": name, "annotations": {default: "true"} if default else None}}


def _resources(*names: str) -> Json:
    return {"resources": [{"name": name} for name in names]}
