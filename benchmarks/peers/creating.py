"""From the wish for one to the moment that it is ready: ours on `local`, JupyterHub's with SimpleLocalProcessSpawner.

Both start real programs on this machine, of which each has its own. A client waits as the API lets it: ours by
`Prefer: wait`, the hub by its answer, which waits for ten seconds, and then by the progress of the start.
"""

from __future__ import annotations

import http.client
import json
import os
import secrets
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from agents.engines.pi import PI
from benchmarks import customers, processes
from benchmarks.customers import Customer
from benchmarks.idle_pods import end_pods
from benchmarks.peers import hub
from benchmarks.peers.hub import Hub
from benchmarks.peers.reads import OURS
from benchmarks.peers.rows import PeerFigure
from benchmarks.processes import Program
from tests.doubles.pi import install_double

ONE = "create to ready, one at a time"
AT_ONCE = 30
MANY = f"{AT_ONCE} at once, until each is ready"
TIMES = 3  # after one that only warms up
EACH = 3  # agents of an account: MAX_FREE_AGENTS
PATIENCE_SECONDS = 300
THEIRS = f"{hub.WHO}, jupyterhub-singleuser"
PATIENT = f"the same, where a server has {PATIENCE_SECONDS} s to answer instead of 30 s"
WANTED = json.dumps({"personaId": "exam-coach", "tier": "small"}).encode()


class StartOutcome(StrEnum):
    READY = "ready"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Waited:
    outcome: StartOutcome
    seconds: float


Start = Callable[[], StartOutcome]


def measure() -> list[PeerFigure]:
    with _ours() as (who, servers, port):
        first, rest = (_agents(port, count) for count in (1 + TIMES, AT_ONCE))
        figures = [_alone(who, servers, first), _together(who, servers, rest)]
    with hub.running() as theirs:
        figures.append(_alone(THEIRS, [theirs.program], _servers(theirs, 1 + TIMES)))
        figures.append(_together(THEIRS, [theirs.program], _servers(theirs, AT_ONCE)))
    if str(StartOutcome.FAILED) in figures[-1].who:
        with hub.running(HUB_HTTP_TIMEOUT=str(PATIENCE_SECONDS)) as theirs:
            at_once(_servers(theirs, 1))
            figures.append(_together(PATIENT, [theirs.program], _servers(theirs, AT_ONCE)))
    return figures


def _alone(who: str, servers: Sequence[Program], starts: Sequence[Start]) -> PeerFigure:
    """One after another. The first one only warms up."""
    first, *rest = [_costed(servers, [start]) for start in starts]
    waits = [each.seconds * 1000 for _, found in rest for each in found if each.outcome is StartOutcome.READY]
    if len(waits) < len(rest):
        raise RuntimeError(f"{who}: only {len(waits)} of {len(rest)} became ready, after {first}")
    return PeerFigure(
        what=ONE,
        who=who,
        cpu_ms=statistics.median(used for used, _ in rest),
        median_ms=statistics.median(waits),
        p99_ms=max(waits),
    )


def _together(who: str, servers: Sequence[Program], starts: Sequence[Start]) -> PeerFigure:
    cpu, waited = _costed(servers, starts)
    return summary(who, waited, cpu_ms=cpu)


def summary(who: str, many: Sequence[Waited], *, cpu_ms: float) -> PeerFigure:
    """Those that were refused or failed are named. Where some failed, there are no figures."""
    waits = [each.seconds for each in many if each.outcome is StartOutcome.READY]
    counts = [
        (len([one for one in many if one.outcome is kind]), kind)
        for kind in (StartOutcome.REFUSED, StartOutcome.FAILED)
    ]
    if any(each.outcome is StartOutcome.FAILED for each in many):
        waits = []
    without = ", ".join(f"{count} {kind}" for count, kind in counts if count) or "none refused"
    return PeerFigure(
        what=MANY,
        who=f"{who}: {without}",
        cpu_ms=cpu_ms / len(waits) if waits else None,
        rate=len(waits) / max(waits) if waits else None,
        median_ms=statistics.median(waits) * 1000 if waits else None,
        p99_ms=max(waits) * 1000 if waits else None,
    )


def at_once(starts: Sequence[Start]) -> list[Waited]:
    """Begin all at once, and wait until each has an outcome."""
    with ThreadPoolExecutor(len(starts)) as pool:
        return list(pool.map(_timed, starts))


def _timed(start: Start) -> Waited:
    begun = time.monotonic()
    return Waited(start(), time.monotonic() - begun)


def _costed(servers: Sequence[Program], starts: Sequence[Start]) -> tuple[float, list[Waited]]:
    """Milliseconds of CPU, with those of the programs that were started."""
    before = sum(server.cpu_seconds() for server in servers)
    waited = at_once(starts)
    return (sum(server.cpu_seconds() for server in servers) - before) * 1000, waited


# Ours.


@contextmanager
def _ours() -> Iterator[tuple[str, list[Program], int]]:
    engine, cache = _engine()
    environment = {"AGENT_RUNTIME": "local", "ENGINE_CACHE": str(cache)}
    with ExitStack() as stack:
        stack.callback(end_pods)
        web = stack.enter_context(processes.web(**environment))
        worker = stack.enter_context(processes.worker("lifecycle,billing,default", **environment))
        beat = stack.enter_context(processes.beat(**environment))
        servers = [web, worker, beat, processes.postgres(), processes.store_of_tasks()]
        yield f"{OURS}, {engine}", servers, web.port


def _engine() -> tuple[str, Path]:
    """The real pi if it is installed already, else a double of its program."""
    given = os.environ.get("ENGINE_CACHE")
    name = f"{PI.id}-{PI.package.version}"
    if given and Path(given, name, ".installed").exists():
        return f"{PI.id} {PI.package.version}", Path(given)
    return "a double of pi", install_double(Path(os.environ["AGENTPODS_HOME"], "engines-of-peers"))


def _agents(port: int, count: int) -> list[Start]:
    """Of as few accounts as may have so many."""
    buyers = customers.some(-(-count // EACH)) * EACH
    return [_agent(port, buyer) for buyer in buyers[:count]]


def _agent(port: int, buyer: Customer) -> Start:
    headers = {"Authorization": buyer.bearer, "Content-Type": "application/json", "Prefer": "wait=60"}

    def start() -> StartOutcome:
        status, body = _call(port, "POST", "/agents", WANTED, headers)
        if status != 200:
            return StartOutcome.REFUSED
        deadline = time.monotonic() + PATIENCE_SECONDS
        agent = json.loads(body)["agent"]
        while agent["status"] == "provisioning" and time.monotonic() < deadline:
            time.sleep(0.2)
            agent = json.loads(_call(port, "GET", f"/agents/{agent['id']}", b"", headers)[1])["agent"]
        return StartOutcome.READY if agent["status"] == "running" else StartOutcome.FAILED

    return start


# Theirs.


def _servers(theirs: Hub, count: int) -> list[Start]:
    """Each is for a new user."""
    return [_server(theirs, f"user-{secrets.token_hex(4)}") for _ in range(count)]


def _server(theirs: Hub, user: str) -> Start:
    headers = {"Authorization": f"token {theirs.token}"}

    def start() -> StartOutcome:
        path = f"/hub/api/users/{user}"
        made, _ = _call(theirs.program.port, "POST", path, b"", headers)
        status, _ = _call(theirs.program.port, "POST", f"{path}/server", b"", headers)
        if made != 201 or status in {429, 503}:
            return StartOutcome.REFUSED
        if status == 202:
            return _followed(theirs.program.port, f"{path}/server/progress", headers)
        return StartOutcome.READY if status == 201 else StartOutcome.FAILED

    return start


def _followed(port: int, path: str, headers: dict[str, str]) -> StartOutcome:
    """Follow the progress of a start until its last event."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)) as connection:
        connection.request("GET", path, headers=headers)
        for line in connection.getresponse():
            event = json.loads(line.removeprefix(b"data:")) if line.startswith(b"data:") else {}
            if event.get("ready"):
                return StartOutcome.READY
            if event.get("failed"):
                return StartOutcome.FAILED
    return StartOutcome.FAILED


def _call(port: int, verb: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)) as connection:
        connection.request(verb, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
