"""The probes of a container, at the container's own intervals."""

from __future__ import annotations

import _socket
import http.client
import math
import socket
import time
from dataclasses import dataclass
from typing import cast

from tests.doubles.kube.resources import Object

# A machine that runs tests is slower than a machine that only runs pods.
_LEAST_TIMEOUT = 3.0


@dataclass
class Probe:
    address: str
    port: int
    path: str
    period: float
    timeout: float
    failures_allowed: int
    due: float
    failures: int = 0

    def ask(self) -> bool:
        """Ask once; returns whether the answer was good. The next probe is due one period later."""
        is_good = self._is_good()
        self.failures = 0 if is_good else self.failures + 1
        self.due = time.monotonic() + self.period
        return is_good

    def has_failed(self) -> bool:
        return self.failures >= self.failures_allowed

    def _is_good(self) -> bool:
        connection = _Connection(self.address, self.port, timeout=self.timeout)
        try:
            connection.request("GET", self.path, headers={"User-Agent": "kube-probe/1.37", "Connection": "close"})
            return 200 <= connection.getresponse().status < 400
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


class _Connection(http.client.HTTPConnection):
    """Tests may forbid connections to a pod's address, but the node may connect."""

    def connect(self) -> None:
        self.sock = socket.socket()
        self.sock.settimeout(cast("float", self.timeout))
        try:
            _socket.socket.connect(self.sock, (self.host, self.port))
        except OSError:
            self.sock.close()
            raise


def probe(container: Object, kind: str, address: str, override: float | None) -> Probe | None:
    """The container's `startup`, `liveness` or `readiness` probe.

    With an overridden period, starting and dying still take as long as the container says. Only changes of readiness
    are noticed sooner.
    """
    told = container.get(f"{kind}Probe")
    if not told or "httpGet" not in told:
        return None
    said = float(told.get("periodSeconds", 10))
    period = min(said, override) if override else said
    allowed = int(told.get("failureThreshold", 3))
    if kind != "readiness":
        allowed = math.ceil(allowed * said / period)
    port = told["httpGet"]["port"]
    if isinstance(port, str):
        port = next(one["containerPort"] for one in container["ports"] if one.get("name") == port)
    delay = 0.0 if override else float(told.get("initialDelaySeconds", 0))
    timeout = max(float(told.get("timeoutSeconds", 1)), _LEAST_TIMEOUT if override else 0)
    path = told["httpGet"].get("path", "/")
    return Probe(address, port, path, period, timeout, allowed, time.monotonic() + delay)
