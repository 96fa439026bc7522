"""Builds the pod itself: the gateway container, which copies the bridge's files, and the engine container, in which the
bridge runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from agents.cause import Cause
from agents.clusters.api import names, parts
from agents.clusters.api.names import MIB
from agents.clusters.api.place import ClusterSettings
from agents.runtimes.base import PodSpec, RuntimeFailure

ENGINE_USER = 10001
GATEWAY_USER = 10002
VOLUME_GROUP = 10000

GATEWAY_CPU = Decimal("0.5")
# For the bridge, in the engine's container. With only a small tier's CPU, each start would wait for the bridge.
BRIDGE_CPU = Decimal("0.25")
GATEWAY_BYTES = 256 * MIB
TEMPORARY_BYTES = 512 * MIB
# The part of its CPU limit that a pod is guaranteed: agents wait for models most of the time.
PROMISED_CPU = Decimal("0.2")
# Seconds. The bridge gives its engine 15 of them to end.
GRACE_SECONDS = 20
# An engine may take this many seconds to its first answer, before the bridge itself counts as dead.
START_SECONDS = 60

# There is no init container, because it would make each start a second slower: a node notices its end late. The engine
# starts as soon as the file `whole` exists. Half a copy of a killed container is written again.
_WHOLE = f"{names.BRIDGE_DIRECTORY}/whole"
_COPY = f"cp -a {names.BRIDGE_BUNDLE}/bin {names.BRIDGE_BUNDLE}/lib {names.BRIDGE_DIRECTORY} && touch {_WHOLE}"
BRING_BRIDGE = f'[ -e {_WHOLE} ] || {{ {_COPY}; }} && exec "$0" "$@"'
AWAIT_BRIDGE = f'trap \'exit 0\' TERM; until [ -e {_WHOLE} ]; do sleep 0.1; done; exec "$0" "$@"'

_Json = dict[str, Any]


def pod(spec: PodSpec, place: ClusterSettings) -> _Json:
    """The pod's specification. Raises RuntimeFailure if there is no image for the engine."""
    runtime_class = place.tier_runtime_classes.get(spec.tier, place.runtime_class)
    return {
        **parts.pod(place, runtime_class=runtime_class),
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "securityContext": {
            "runAsNonRoot": True,
            "fsGroup": VOLUME_GROUP,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        # A node pulls and starts the containers in this order.
        "containers": [_gateway(spec, place), _engine(spec, place)],
        "volumes": _volumes(),
        **({"priorityClassName": place.priority_class} if place.priority_class else {}),
    }


def image_of(engine: str, place: ClusterSettings) -> str:
    """The engine's image. Raises a permanent RuntimeFailure if the operator has set none."""
    image = place.engine_images.get(engine)
    if not image:
        raise RuntimeFailure(f"ENGINE_IMAGES names no image for {engine}", cause=Cause.ENGINE, permanent=True)
    return image


def _engine(spec: PodSpec, place: ClusterSettings) -> _Json:
    memory = spec.limits.memory_bytes + names.BRIDGE_BYTES
    return {
        "name": names.ENGINE,
        "image": image_of(spec.engine, place),
        "imagePullPolicy": place.pull_policy,
        "command": ["sh", "-c", AWAIT_BRIDGE, f"{names.BRIDGE_DIRECTORY}/bin/python", *_program("bridge", spec)],
        "env": _environment(spec, home=names.DATA_MOUNT),
        "securityContext": parts.security(ENGINE_USER),
        "resources": _resources(
            memory_bytes=memory,
            cpu=spec.limits.cpu,
            temporary_bytes=TEMPORARY_BYTES,
            unpromised=Unpromised(memory_bytes=backup_bytes(place), cpu=BRIDGE_CPU),
        ),
        "livenessProbe": _alive(names.BRIDGE_PORT),
        "readinessProbe": _ready(names.BRIDGE_PORT, "/readyz"),
        "volumeMounts": [
            {"name": "bridge", "mountPath": names.BRIDGE_DIRECTORY, "readOnly": True},
            {"name": "engine-start", "mountPath": names.START_DIRECTORY, "readOnly": True},
            {"name": "engine-run", "mountPath": names.RUN_DIRECTORY},
            {"name": "engine-tmp", "mountPath": "/tmp"},  # noqa: S108 # in the container
            {"name": names.CLAIM, "mountPath": names.DATA_MOUNT},
        ],
    }


def _gateway(spec: PodSpec, place: ClusterSettings) -> _Json:
    return {
        "name": names.GATEWAY,
        "image": place.pod_image,
        "imagePullPolicy": place.pull_policy,
        "command": ["sh", "-c", BRING_BRIDGE, "python", *_program("gateway", spec)],
        "env": _environment(spec, home="/tmp"),  # noqa: S108
        "ports": [
            {"name": "public", "containerPort": names.PUBLIC_PORT, "protocol": "TCP"},
            {"name": "management", "containerPort": names.MANAGEMENT_PORT, "protocol": "TCP"},
        ],
        "securityContext": parts.security(GATEWAY_USER),
        "resources": _resources(memory_bytes=GATEWAY_BYTES, cpu=GATEWAY_CPU, temporary_bytes=64 * MIB),
        "livenessProbe": _alive(names.PUBLIC_PORT),
        "readinessProbe": _ready(names.PUBLIC_PORT, "/healthz"),
        "volumeMounts": [
            {"name": "bridge", "mountPath": names.BRIDGE_DIRECTORY},
            {"name": "gateway-start", "mountPath": names.START_DIRECTORY, "readOnly": True},
            {"name": "gateway-run", "mountPath": names.RUN_DIRECTORY},
            {"name": "gateway-tmp", "mountPath": "/tmp"},  # noqa: S108
        ],
    }


def _program(name: str, spec: PodSpec) -> list[str]:
    return [
        "-m",
        f"agents.pod.{name}",
        f"--start={names.START_DIRECTORY}/{names.START_FILE}",
        f"--namespace={spec.namespace}",
        f"--home={names.RUN_DIRECTORY}",
    ]


def _environment(spec: PodSpec, *, home: str) -> list[_Json]:
    values = {
        "AGENTPODS_NAMESPACE": spec.namespace,
        "AGENTPODS_HOME": names.RUN_DIRECTORY,
        "HOME": home,
        "TMPDIR": "/tmp",  # noqa: S108
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return [{"name": name, "value": value} for name, value in values.items()]


def backup_bytes(place: ClusterSettings) -> int:
    """Bytes of memory that an engine's container may use without a guarantee, because only backups need them."""
    return names.BACKUP_BYTES if place.backup_port else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpromised:
    """What a container may use in addition to what its node guarantees."""

    memory_bytes: int = 0
    cpu: Decimal = Decimal(0)


_NOTHING = Unpromised()


def _resources(*, memory_bytes: int, cpu: Decimal, temporary_bytes: int, unpromised: Unpromised = _NOTHING) -> _Json:
    """The resources of a container. Its memory is fully guaranteed, except for the part for backups. Above the limit,
    the kernel ends its processes.
    """
    return {
        "requests": {
            "memory": str(memory_bytes),
            "cpu": f"{int(cpu * PROMISED_CPU * 1000)}m",
            "ephemeral-storage": str(temporary_bytes // 4),
        },
        "limits": {
            "memory": str(memory_bytes + unpromised.memory_bytes),
            "cpu": f"{int((cpu + unpromised.cpu) * 1000)}m",
            "ephemeral-storage": str(temporary_bytes),
        },
    }


def _alive(port: int) -> _Json:
    """The liveness probe. The kubelet starts it only after START_SECONDS. A startup probe instead would delay the
    readiness probe.
    """
    return {
        **_asked(port, "/healthz"),
        "initialDelaySeconds": START_SECONDS,
        "periodSeconds": 10,
        "failureThreshold": 3,
    }


def _ready(port: int, path: str) -> _Json:
    return {**_asked(port, path), "periodSeconds": 1, "failureThreshold": 4}


def _asked(port: int, path: str) -> _Json:
    return {"httpGet": {"path": path, "port": port}, "timeoutSeconds": 3}


def _volumes() -> list[_Json]:
    def secret(name: str) -> _Json:
        # The group of the volumes may read it. Each Secret is mounted only into its own container.
        return {"name": f"{name}-start", "secret": {"secretName": name, "defaultMode": 0o440}}

    def empty(name: str, megabytes: int, **more: str) -> _Json:
        return {"name": name, "emptyDir": {"sizeLimit": f"{megabytes}Mi", **more}}

    return [
        empty("bridge", 256),
        secret(names.ENGINE_SECRET),
        secret(names.GATEWAY_SECRET),
        empty("engine-run", 16),
        empty("gateway-run", 16),
        empty("engine-tmp", 256),
        empty("gateway-tmp", 16),
        {"name": names.CLAIM, "persistentVolumeClaim": {"claimName": names.CLAIM}},
    ]
