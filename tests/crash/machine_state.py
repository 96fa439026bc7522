"""The state of the machine for one home: processes, directories, listening ports; read without the product's code."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

GATEWAY, BRIDGE, ENGINE = "gateway", "bridge", "engine"
# The ports of pods, below the kernel's range for outgoing connections.
POD_PORTS = range(20_000, 32_000)


@dataclass(frozen=True, slots=True)
class SeenProcess:
    """One process of a pod. `role` is gateway or bridge, or the role in the process's environment."""

    pid: int
    role: str
    namespace: str
    born: float
    ancestors: frozenset[int] = field(repr=False)
    ports: frozenset[int] = field(repr=False)
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Disk:
    """The files in the home directory that concern pods."""

    records: dict[str, dict[str, Any]]  # by directory in `pods/`: its pod.json, empty without one
    data: frozenset[str]  # agents with a data directory
    ports: dict[str, int]  # the public port promised to each agent
    locks: frozenset[str]
    strays: tuple[str, ...]  # files that belong to nothing


def pod_processes(home: Path) -> list[SeenProcess]:
    """Every live process of every pod of this home, whatever its parent is now."""
    return [seen for process in psutil.process_iter() if (seen := _seen(process, home))]


def identities(home: Path) -> Iterator[tuple[int, str, str]]:
    """Pid, role and namespace of every process of a pod; faster than `pod_processes`."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            role, namespace = _identity(process, home)
            if role and process.status() != psutil.STATUS_ZOMBIE:
                yield process.pid, role, namespace


def program_processes(supervisor: psutil.Process) -> list[psutil.Process]:
    """The supervisor's own children, which `make run` keeps alive. Adopted orphans carry a pod's marks."""
    with suppress(psutil.Error):
        return [child for child in supervisor.children() if "AGENTPODS_ROLE" not in _environment(child)]
    return []


def orphans(home: Path, supervisor: int) -> list[psutil.Process]:
    """Processes of the service that are no longer below its supervisor."""
    return [one for one in psutil.process_iter() if _is_orphan(one, home, supervisor)]


def _is_orphan(process: psutil.Process, home: Path, supervisor: int) -> bool:
    try:
        carried = _environment(process)
        ours = carried.get("AGENTPODS_HOME") == str(home) and "AGENTPODS_ROLE" not in carried
        above = {process.pid, *(parent.pid for parent in process.parents())}
        return ours and supervisor not in above and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def disk(home: Path) -> Disk:
    pods, data, locks = home / "pods", home / "data", home / "locks"
    records = {path.name: _json(path / "pod.json") for path in _entries(pods) if path.is_dir()}
    ports = {path.stem: int(path.read_text()) for path in data.glob("*.port") if not path.name.startswith(".")}
    directories = frozenset(path.name for path in _entries(data) if path.is_dir())
    names = frozenset(path.stem for path in _entries(locks) if path.suffix == ".lock")
    known = {*(data / name for name in directories), *(data / f"{name}.port" for name in ports)}
    known |= {*(pods / name for name in records), *(locks / f"{name}.lock" for name in names)}
    everything = {*_entries(pods), *_entries(data), *_entries(locks)}
    halves = [path for name in records for path in (pods / name).glob(".*.tmp")]
    strays = sorted(str(path.relative_to(home)) for path in [*(everything - known), *halves])
    return Disk(records, directories, ports, names, tuple(strays))


def listening_ports() -> set[int]:
    """Pods' ports on which any process of this machine listens, read from the kernel."""
    return {port for table in ("tcp", "tcp6") for port in _listening(Path("/proc/net", table)) if port in POD_PORTS}


def _listening(table: Path) -> Iterator[int]:
    with suppress(OSError):
        for line in table.read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A":
                yield int(words[1].rpartition(":")[2], 16)


def _seen(process: psutil.Process, home: Path) -> SeenProcess | None:
    try:
        role, namespace = _identity(process, home)
        if not role or process.status() == psutil.STATUS_ZOMBIE:
            return None
        return SeenProcess(
            process.pid,
            role,
            namespace,
            process.create_time(),
            frozenset(parent.pid for parent in process.parents()),
            _ports_of(process),
            process.status() == psutil.STATUS_STOPPED,
        )
    except psutil.Error:
        return None


def _identity(process: psutil.Process, home: Path) -> tuple[str, str]:
    arguments = process.cmdline()
    if f"--home={home}" in arguments:
        modules = {"agents.pod.gateway": GATEWAY, "agents.pod.bridge": BRIDGE}
        role = next((modules[word] for word in arguments if word in modules), "")
        return role, next((word.partition("=")[2] for word in arguments if word.startswith("--namespace=")), "")
    carried = _environment(process)
    if carried.get("AGENTPODS_HOME") == str(home) and "AGENTPODS_NAMESPACE" in carried:
        return carried.get("AGENTPODS_ROLE", "?"), carried["AGENTPODS_NAMESPACE"]
    return "", ""


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except (psutil.Error, OSError):
        return {}


def _ports_of(process: psutil.Process) -> frozenset[int]:
    """The process's listening ports; empty if we may not read them, as for a gateway unless we are root."""
    try:
        connections = process.net_connections(kind="tcp")
    except (psutil.Error, OSError):
        return frozenset()
    return frozenset(one.laddr.port for one in connections if one.status == psutil.CONN_LISTEN)


def _entries(directory: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(directory)]
    except FileNotFoundError:
        return []


def _json(path: Path) -> dict[str, Any]:
    try:
        body = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return body if isinstance(body, dict) else {}
