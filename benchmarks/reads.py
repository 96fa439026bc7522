"""G1 to G3: one agent and a list of 200, against plain views with constant SQL that answer the same JSON."""

from __future__ import annotations

import json

from django.test import override_settings

from agents import creation
from benchmarks import customers, load, processes
from benchmarks.figures import Figure, ratio
from benchmarks.measuring import Cost, TargetCall, compared, described, in_turns
from benchmarks.processes import Program

AGENTS = 200
REQUESTS = 1_000
LISTS = 60
WANTED = creation.NewAgent(persona_id="exam-coach", tier="small", webhook_url="https://hooks.example.com/agents")


def measure() -> list[Figure]:
    customer = customers.one()
    with override_settings(MAX_FREE_AGENTS=AGENTS, MAX_TRIALS=0):
        agents = [creation.create(customer.user, WANTED, actor="benchmark")[0] for _ in range(AGENTS)]
    one = load.get(f"/agents/{agents[0].id}", Authorization=customer.bearer)
    many = load.get("/agents", Authorization=customer.bearer)
    with processes.web() as product, processes.web("benchmarks.baseline.settings") as baseline:
        for request in (one, many):
            check_same(product, request, baseline, request)
        return [
            _one(compared(TargetCall(product, one), TargetCall(baseline, one), times=REQUESTS)),
            _rate(product, baseline, one),
            _many(compared(TargetCall(product, many), TargetCall(baseline, many), times=LISTS)),
        ]


def check_same(product: Program, asked: bytes, baseline: Program, asked_there: bytes) -> None:
    """Check that both answer the same: a baseline that answers less would be no baseline."""
    ours, theirs = (
        json.loads(load.run(server.port, [request], connections=1).expect(200).answers[0].body)
        for server, request in ((product, asked), (baseline, asked_there))
    )
    if ours != theirs:
        raise RuntimeError(f"the baseline answers otherwise:\n{ours}\n{theirs}")


def _one(measured: tuple[list[Cost], list[Cost]]) -> Figure:
    return _cpu("G1 GET /agents/{id}, API key: CPU", measured, 2.5, "plain view, key and row in one statement")


def _many(measured: tuple[list[Cost], list[Cost]]) -> Figure:
    return _cpu(f"G3 GET /agents, {AGENTS} agents: CPU", measured, 2.0, "plain view, constant SQL, dict, orjson")


def _cpu(name: str, measured: tuple[list[Cost], list[Cost]], limit: float, what: str) -> Figure:
    ours, theirs = measured
    value = ratio([cost.total for cost in ours], [cost.total for cost in theirs])
    against = f"{what}, the same JSON; CPU {described(ours)} against {described(theirs)}"
    return Figure(name, value, "x", f"<= {limit} x", value <= limit, against)


def _rate(product: Program, baseline: Program, request: bytes) -> Figure:
    ours, theirs = in_turns(
        lambda: TargetCall(product, request).cost(REQUESTS).rate,
        lambda: TargetCall(baseline, load.get("/select-1")).cost(REQUESTS).rate,
    )
    against = "plain view with `select 1`: requests a second over 8 connections, the load generator on the same cores"
    value = ratio(ours, theirs)
    return Figure("G2 GET /agents/{id}: requests a second", value, "x", ">= 0.33 x", value >= 0.33, against)
