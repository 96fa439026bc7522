"""The official client and a few manifests, for the double's own tests."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from kubernetes import client, config
from kubernetes import watch as official
from kubernetes.client.exceptions import ApiException

from tests.doubles.kube_api import KubeApi

APPLY = "application/apply-patch+yaml"
Body = dict[str, Any]


def watching() -> Any:
    watch: Any = official.Watch
    return watch()


class OfficialClient:
    """The official client, used as a program uses it."""

    def __init__(self, cluster: KubeApi, account: str = "admin") -> None:
        configured: Any = config.new_client_from_config_dict
        self.api = configured(yaml.safe_load(cluster.kubeconfig(account)))
        # Untyped, because all fields of its models are optional and its streams are not models.
        self.core: Any = client.CoreV1Api(self.api)
        self.apps: Any = client.AppsV1Api(self.api)

    def namespace(self, name: str = "one", **labels: str) -> None:
        self.core.create_namespace(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        )

    def apply(self, body: Body, *, manager: str = "agentpods", force: bool = False) -> Any:
        kind, metadata = body["kind"], body["metadata"]
        patch = {
            "Deployment": self.apps.patch_namespaced_deployment,
            "Secret": self.core.patch_namespaced_secret,
        }[kind]
        return patch(
            metadata["name"], metadata["namespace"], body, field_manager=manager, force=force, _content_type=APPLY
        )

    def create(self, body: Body) -> Any:
        kind, namespace = body["kind"], body["metadata"]["namespace"]
        return {
            "PersistentVolumeClaim": self.core.create_namespaced_persistent_volume_claim,
            "ResourceQuota": self.core.create_namespaced_resource_quota,
            "Secret": self.core.create_namespaced_secret,
        }[kind](namespace, body)


def secret(namespace: str = "one", **data: str) -> Body:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "engine", "namespace": namespace},
        "stringData": data,
    }


def claim(namespace: str = "one", **spec: str) -> Body:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    metadata = {"name": "data", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": wanted}


def deployment(namespace: str = "one", *, replicas: int = 1, image: str = "engine:1", **spec: Any) -> Body:
    labels = {"app": "pod"}
    container = {"name": "engine", "image": image, **spec.pop("container", {})}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "pod", "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container], **spec}},
        },
    }


WITH_DATA: Body = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}


def refusal(error: pytest.ExceptionInfo[ApiException]) -> Body:
    status: Body = json.loads(error.value.body or "")
    assert status["code"] == error.value.status
    return status


def is_ready(cluster: KubeApi, namespace: str = "one") -> bool:
    found = cluster.get("Deployment", "pod", namespace)
    return bool(found and found["status"].get("readyReplicas"))
