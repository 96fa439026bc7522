"""CREATING: from `POST /agents` to `running`, as a client sees it, with the real pi on `local`.

The whole service runs as `make run` starts it. The engine is installed before. ENGINE_CACHE may name a directory that
has it already. One agent after another is created, then 30 at once by ten accounts.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from django.conf import settings

from benchmarks import creating_stages, customers, engine_alone, load, whole_service
from benchmarks.creating_stages import Created
from benchmarks.customers import Customer
from benchmarks.figures import Figure
from config.settings import BASE_DIR

ONE_BY_ONE = 15  # for each way of waiting
ACCOUNTS, EACH = 10, 3  # MAX_FREE_AGENTS
AT_ONCE = ACCOUNTS * EACH
ONE_SECONDS, ALL_SECONDS = 1.0, 6.0
WAIT = 120
POLL_SECONDS = 0.02
SETTLE_SECONDS = 5.0
WANTED = json.dumps({"personaId": "exam-coach", "tier": "small"}).encode()


def measure() -> list[Figure]:
    home = Path(os.environ["AGENTPODS_HOME"])
    cache = Path(os.environ.get("ENGINE_CACHE") or BASE_DIR / "var" / "engines")
    secrets = {"SECRET_KEY": settings.SECRET_KEY, "SECRETS_KEYS": ",".join(settings.SECRETS_KEYS)}
    # Without backups agents are deleted sooner between two measurements; creating makes none.
    with whole_service.running(home, ENGINE_CACHE=str(cache), BACKUP_STORE="off", **secrets) as service:
        awaited, polled = partial(_awaited, service.port), partial(_polled, service.port)
        _one_by_one(service.port, awaited, times=1)  # installs the engine, if that is needed
        time.sleep(SETTLE_SECONDS)
        ways = {
            "with Prefer: wait": _one_by_one(service.port, awaited, times=ONE_BY_ONE),
            "polled": _one_by_one(service.port, polled, times=ONE_BY_ONE),
        }
        together = _at_once(service.port)
    alone = engine_alone.measure(cache)
    single = [figure for way, created in ways.items() for figure in _verdicts(way, created)]
    by_stage = [
        *creating_stages.figures("one", ways["with Prefer: wait"]),
        *creating_stages.figures(f"of {AT_ONCE}", together),
    ]
    return [*single, _together(together), *alone, *by_stage]


def _one_by_one(port: int, way: Callable[[Customer], Created], *, times: int) -> list[Created]:
    found = []
    for _ in range(times):
        owner = customers.one()
        found.append(way(owner))
        _delete(port, [(owner, found[-1].agent_id)])
    return found


def _awaited(port: int, owner: Customer) -> Created:
    """One request, whose answer comes when the agent has settled."""
    return _created(load.run(port, [_create(owner, Prefer=f"wait={WAIT}")], connections=1).expect(200).answers[0])


def _polled(port: int, owner: Customer) -> Created:
    made = load.run(port, [_create(owner)], connections=1).expect(200).answers[0]
    agent_id = json.loads(made.body)["agent"]["id"]
    read = load.get(f"/agents/{agent_id}", Authorization=owner.bearer)
    while True:
        answer = load.run(port, [read], connections=1).expect(200).answers[0]
        if json.loads(answer.body)["agent"]["status"] != "provisioning":
            return _created(answer, sent=made.at - made.seconds)
        time.sleep(POLL_SECONDS)


def _at_once(port: int) -> list[Created]:
    owners = customers.some(ACCOUNTS)
    requests = [_create(owner, Prefer=f"wait={WAIT}") for owner in owners] * EACH
    answers = load.run(port, requests, connections=AT_ONCE).expect(200).answers
    return [_created(answer) for answer in answers]


def _create(owner: Customer, **headers: str) -> bytes:
    return load.post("/agents", WANTED, Authorization=owner.bearer, **headers)


def _created(answer: load.LoadAnswer, *, sent: float | None = None) -> Created:
    """Raises RuntimeError if the agent does not run."""
    agent = json.loads(answer.body)["agent"]
    if agent["status"] != "running":
        raise RuntimeError(f"an agent is {agent['status']} instead of running")
    began = answer.at - answer.seconds if sent is None else sent
    return Created(agent["id"], sent=began, seen=answer.at, moments=creating_stages.moments(agent["id"]))


def _delete(port: int, made: Sequence[tuple[Customer, str]]) -> None:
    gone = [
        load.request("DELETE", f"/agents/{agent_id}", Authorization=owner.bearer, Prefer=f"wait={WAIT}")
        for owner, agent_id in made
    ]
    load.run(port, gone, connections=len(gone)).expect(204)


def _verdicts(way: str, created: Sequence[Created]) -> list[Figure]:
    times = [one.seen - one.sent for one in created]
    median, slowest = statistics.median(times), max(times)
    goal = f"<= {ONE_SECONDS:.0f} s"
    against = f"no baseline; {len(times)} agents, one after another, {way}; all: " + " ".join(
        f"{seconds:.2f}" for seconds in sorted(times)
    )
    return [
        Figure(f"To running, {way}: median", median, "s", goal, median <= ONE_SECONDS, against),
        Figure(f"To running, {way}: slowest", slowest, "s", goal, slowest <= ONE_SECONDS, "the same agents"),
    ]


def _together(created: Sequence[Created]) -> Figure:
    first = min(one.sent for one in created)
    ends = sorted(one.seen - first for one in created)
    half = ends[len(ends) // 2]
    against = f"no baseline; {ACCOUNTS} accounts; the first ran after {ends[0]:.1f} s, half of them after {half:.1f} s"
    goal = f"<= {ALL_SECONDS:.0f} s"
    return Figure(f"{AT_ONCE} at once: all running after", ends[-1], "s", goal, ends[-1] <= ALL_SECONDS, against)
