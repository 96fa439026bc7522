"""One agent and a list of 200, with a token: ours, then a plain DRF project with the same rows and the same JSON."""

from __future__ import annotations

from django.test import override_settings

from agents import creation
from benchmarks import customers, load, processes
from benchmarks.peers import drf
from benchmarks.peers.asking import asked
from benchmarks.peers.rows import PeerFigure
from benchmarks.processes import Program
from benchmarks.reads import AGENTS, WANTED, check_same

ONE = "read one, with a token"
MANY = f"list {AGENTS}"
OURS = "Agentpods"
DRF = "plain DRF"
READS = 500
LISTS = 40


def measure() -> list[PeerFigure]:
    customer = customers.one()
    with override_settings(MAX_FREE_AGENTS=AGENTS, MAX_TRIALS=0):
        agents = [creation.create(customer.user, WANTED, actor="benchmark")[0] for _ in range(AGENTS)]
    paths = {ONE: f"/agents/{agents[0].id}", MANY: "/agents"}
    ours = {what: load.get(path, Authorization=customer.bearer) for what, path in paths.items()}
    token = f"Token {drf.token_of(customer.user)}"
    theirs = {what: load.get(path, Authorization=token) for what, path in paths.items()}
    with processes.web() as product, processes.web("benchmarks.peers.drf_settings") as plain:
        for what in paths:
            check_same(product, ours[what], plain, theirs[what])
    with processes.web() as product:
        figures = _read(OURS, product, ours)
    with processes.web("benchmarks.peers.drf_settings") as plain:
        return figures + _read(DRF, plain, theirs)


def _read(who: str, server: Program, requests: dict[str, bytes]) -> list[PeerFigure]:
    servers, times = [server, processes.postgres()], {ONE: READS, MANY: LISTS}
    return [
        asked(what, who, request, servers=servers, port=server.port, times=times[what])
        for what, request in requests.items()
    ]
