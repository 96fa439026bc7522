"""The faults that tests set: of the server's answers, and of pods."""

from __future__ import annotations

import fnmatch
import threading
from collections import defaultdict
from dataclasses import dataclass, field

from tests.doubles.kube.failures import Failure

IMAGE, UNSCHEDULABLE, CRASH, OOM = "image", "unschedulable", "crash", "oom"
EVICTED, EVICTED_SILENTLY, VOLUME, MOUNT, SLOW = "evicted", "evicted-silently", "volume", "mount", "slow"
SCRIPTS = {IMAGE, UNSCHEDULABLE, CRASH, OOM, EVICTED, EVICTED_SILENTLY, VOLUME, MOUNT, SLOW}
_MESSAGES = {
    429: "the server has received too many requests and has asked us to try again later",
    500: "Internal error occurred: etcdserver: request timed out",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


class Dropped(ConnectionError):
    """Close the connection without an answer. Then the server behaves as if the client had closed the connection."""


@dataclass
class ApiFault:
    method: str
    path_contains: str
    status: int | None
    times: int
    delay: float
    retry_after: int | None

    def matches(self, method: str, path: str) -> bool:
        return fnmatch.fnmatchcase(method, self.method) and self.path_contains in path


@dataclass
class Troubles:
    faults: list[ApiFault] = field(default_factory=list)
    scripts: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))  # by namespace
    lock: threading.Lock = field(default_factory=threading.Lock)
    stopping: threading.Event = field(default_factory=threading.Event)

    def meet(self, method: str, path: str) -> None:
        """Apply the first fault that matches this request."""
        with self.lock:
            fault = next((fault for fault in self.faults if fault.matches(method, path)), None)
            if fault is None:
                return
            fault.times -= 1
            if fault.times == 0:
                self.faults.remove(fault)
        self.stopping.wait(fault.delay)
        if fault.status == 0:
            raise Dropped
        if fault.status is not None:
            message = _MESSAGES.get(fault.status, "told to fail by the test")
            raise Failure(fault.status, message, retry=fault.retry_after)

    def has(self, namespace: str, what: str) -> bool:
        return what in self.scripts.get(namespace, ())
