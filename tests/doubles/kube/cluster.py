"""The state that controllers and nodes share: objects, settings, and the namespaces to look at next."""

from __future__ import annotations

import heapq
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.doubles.kube.loads import Loads
from tests.doubles.kube.registry import Registry
from tests.doubles.kube.trouble import Troubles

if TYPE_CHECKING:
    from tests.doubles.kube.pods import PodRun

# Besides namespaces, controllers may have to look at all nodes or at a volume.
NODES = "nodes:"
VOLUME = "volume:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    directory: Path
    run: bool
    engines: Path | None
    probe_seconds: float | None
    crash_seconds: float
    eviction_seconds: float


@dataclass
class PodUsage:
    """The memory and disk use of a namespace's pod that a test sets, in place of measured values."""

    memory_bytes: int | None = None
    disk_bytes: int | None = None


@dataclass
class ClusterDouble:
    registry: Registry
    troubles: Troubles
    settings: Settings
    pods: dict[str, dict[str, PodRun]] = field(default_factory=dict)  # the pods that nodes run, by namespace and uid
    usage: dict[str, PodUsage] = field(default_factory=dict)
    lost: dict[str, float] = field(default_factory=dict)  # by node: when its pods are evicted
    loads: Loads = field(default_factory=Loads)
    _touched: set[str] = field(default_factory=set)
    _due: list[tuple[float, str]] = field(default_factory=list)
    _backoff: dict[str, tuple[int, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store = self.registry.store
        self.stopping = threading.Event()

    def volume_directory(self, volume: str) -> Path:
        return self.settings.directory / "v" / volume

    def touch(self, namespace: str) -> None:
        """Make the controllers look at this namespace."""
        with self.store.changed:
            self._touched.add(namespace)
            self.store.changed.notify_all()

    def later(self, namespace: str, seconds: float) -> None:
        with self.store.changed:
            heapq.heappush(self._due, (time.monotonic() + seconds, namespace))
            self.store.changed.notify_all()

    def take(self) -> set[str]:
        """The namespaces to look at now. The caller holds the store's lock."""
        now = time.monotonic()
        while self._due and self._due[0][0] <= now:
            self._touched.add(heapq.heappop(self._due)[1])
        taken, self._touched = self._touched, set()
        return taken

    def seconds_left(self) -> float | None:
        """Seconds until something is due; None when nothing is. The caller holds the store's lock."""
        return max(0.0, self._due[0][0] - time.monotonic()) if self._due else None

    def is_backing_off(self, key: str) -> bool:
        return time.monotonic() < self._backoff.get(key, (0, 0.0))[1]

    def back_off(self, key: str, namespace: str) -> None:
        """Try again later; the wait doubles with each failure, up to 30 seconds."""
        tries = self._backoff.get(key, (0, 0.0))[0]
        seconds = min(0.25 * 2**tries, 30.0)
        self._backoff[key] = (tries + 1, time.monotonic() + seconds)
        self.later(namespace, seconds)

    def forget_retries(self, key: str) -> None:
        self._backoff.pop(key, None)
