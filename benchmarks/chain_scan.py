"""SCAN: one check of the chain for 1,000 pending orders: how many requests it needs, and its time against plain
requests.

A real chain (anvil) answers. A proxy records the requests of the scan. Then the same bodies are sent again over one
connection, and their answers are only parsed. The difference in time is our own work: validation, SQL, and updates of
orders.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import requests
from django.conf import settings
from django.db import connection
from django.utils import timezone

from agents.models import Agent
from benchmarks import fleet
from benchmarks.figures import Figure, ratio
from benchmarks.measuring import in_turns
from billing.models import ChainState, CryptoOrder, DepositAddress
from billing.providers.crypto import orders, scanning
from billing.vocabulary import Asset, OrderStatus, Period
from tests.doubles.chain import CHAIN_ID, Chain
from tests.doubles.wallet import XPUB, first_address

ORDERS, ROUNDS = 1_000, 11
JSON = {"Content-Type": "application/json"}
REQUESTS_LIMIT, RATIO_LIMIT = 12, 6.0


@dataclass
class Recorder:
    """A proxy in front of a node. It records each request."""

    bodies: list[bytes]

    def serving(self, upstream: str) -> ThreadingHTTPServer:
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                answer = requests.post(upstream, data=bodies[-1], headers=JSON, timeout=60)
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(answer.content)

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=server.serve_forever, daemon=True).start()
        return server


def measure() -> list[Figure]:
    chain = Chain()
    try:
        _configure(chain)
        _order(chain)
        return _measured(chain)
    finally:
        chain.stop()


def _configure(chain: Chain) -> None:
    settings.AGENT_RUNTIME = "benchmarks.recording.RecordingRuntime"
    settings.CRYPTO_RPC_URLS = [chain.url]
    settings.CRYPTO_CHAIN_ID = CHAIN_ID
    settings.CRYPTO_XPUB, settings.CRYPTO_FIRST_ADDRESS = XPUB, first_address()
    settings.CRYPTO_TOKENS = {"usdt": f"{chain.usdt.address}:6:USDT", "usdc": f"{chain.usdc.address}:18:USDC"}


def _order(chain: Chain) -> None:
    """Place one order through the rules and copy it, each copy for its own agent and address."""
    fleet.fill(range(1, ORDERS + 1))
    agents = list(Agent.objects.filter(name="First of the fleet").order_by("pk")[:ORDERS])
    first = orders.place(agents[0], asset=Asset.USDT, tier=None, period=Period.MONTHLY, now=timezone.now())
    for number, agent in enumerate(agents[1:]):
        address = DepositAddress.objects.create(
            agent=agent, account="copy", hd_index=number, address=f"0x{number + 1:040X}", created_at=timezone.now()
        )
        copy = CryptoOrder.objects.get(pk=first.pk)
        copy.pk = copy.id = copy.order_ptr_id = f"cry_{number:024x}"
        copy.agent, copy.deposit_address = agent, address
        copy.save(force_insert=True)
    chain.mine(5)  # so that the newest block, the final block and the baseline's block differ


def _measured(chain: Chain) -> list[Figure]:
    recorder = Recorder([])
    server = recorder.serving(chain.url)
    settings.CRYPTO_RPC_URLS = [f"http://127.0.0.1:{server.server_port}"]
    _scan()  # also reads the baselines once, which makes it the largest scan
    asked, waiting = len(recorder.bodies), CryptoOrder.objects.filter(status=OrderStatus.PENDING).count()
    recorder.bodies.clear()
    _scan()
    server.shutdown()
    settings.CRYPTO_RPC_URLS = [chain.url]
    bodies = recorder.bodies
    ours, bare = in_turns(lambda: _seconds(_scan), lambda: _seconds(lambda: _bare(chain, bodies)), rounds=ROUNDS)
    return [_requests(asked, waiting), _wall(ours, bare, bodies)]


def _scan() -> None:
    now = timezone.now()
    ChainState.objects.update(read_at=now - timedelta(seconds=15), pending_to=0)
    scanning.scan(now=now)


def _bare(chain: Chain, bodies: list[bytes]) -> None:
    with requests.Session() as session:
        session.trust_env = False
        for body in bodies:
            session.post(chain.url, data=body, headers=JSON, timeout=60).json()


def _seconds(act: Callable[[], None]) -> float:
    connection.ensure_connection()
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def _requests(asked: int, waiting: int) -> Figure:
    against = f"no baseline; {waiting:,} orders were pending, each read at three blocks"
    ok = asked <= REQUESTS_LIMIT and waiting == ORDERS
    return Figure(f"SCAN requests for {ORDERS:,} orders", asked, "", f"<= {REQUESTS_LIMIT}", ok, against)


def _wall(ours: list[float], bare: list[float], bodies: list[bytes]) -> Figure:
    value, calls = ratio(ours, bare), sum(len(json.loads(body)) for body in bodies)
    against = (
        f"the same {len(bodies)} requests with {calls:,} calls, asked and parsed alone:"
        f" {statistics.median(ours) * 1e3:.0f} ms against {statistics.median(bare) * 1e3:.0f} ms"
    )
    return Figure("SCAN its time", value, "x", f"<= {RATIO_LIMIT:.0f} x", value <= RATIO_LIMIT, against)
