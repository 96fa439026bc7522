"""A service that answers over HTTP, a worker beside it, and clients with an owner's API key."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer
from typer.testing import CliRunner, Result

from accounts import keys
from accounts.models import User
from agentpods import Agentpods
from agentpods.cli.app import app
from agents.backups import taking
from agents.models import Agent
from agents.running import reconciler
from tests.agents.conftest import bridge, catalog, gateway_of, make_agent, owner, runtime
from tests.doubles.chain import Chain
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.mcp_http import McpHttpServer
from tests.doubles.receiver import Receiver
from tests.doubles.runtime import ScriptedRuntime
from tests.doubles.stripe_server import StripeDouble
from tests.doubles.telegram_payments_server import TelegramPayments
from tests.sdk.driving import typescript
from tests.sdk.driving.asynchronous import asynchronous
from tests.sdk.driving.client import DrivenClient, blocking
from tests.sdk.life.paying import Shops
from webhooks import delivery_loop

__all__ = ["bridge", "catalog", "gateway_of", "make_agent", "owner", "runtime"]

Opens = Callable[..., AbstractContextManager[DrivenClient]]
Meets = Callable[..., AbstractContextManager[DrivenClient]]
CLIENTS = [
    "blocking",
    pytest.param("asynchronous", marks=pytest.mark.sampled),
    pytest.param("typescript", marks=pytest.mark.slow),  # needs the registry of npm
]


@dataclass(frozen=True)
class LiveService:
    """Where the service is, and a key of the owner's."""

    url: str
    key: str


@pytest.fixture
def service(live_server: LiveServer, owner: User, catalog: None, runtime: ScriptedRuntime) -> LiveService:
    _, secret = keys.create(owner, name="sdk", now=timezone.now())
    return LiveService(live_server.url, secret)


@pytest.fixture
def pods(service: LiveService, worker: None) -> Iterator[Agentpods]:
    with Agentpods(service.url, service.key) as client:
        yield client


@pytest.fixture(params=CLIENTS)
def opens(request: pytest.FixtureRequest, tmp_path: Path) -> Opens:
    """`opens(url, key)`: each of the clients in turn. Also `timeout` in seconds, and `max_retries`."""
    if request.param == "typescript":
        return partial(typescript.started, typescript.copied(tmp_path))
    opened: dict[str, Opens] = {"blocking": blocking, "asynchronous": asynchronous}
    return opened[request.param]


@pytest.fixture
def each(opens: Opens, service: LiveService, worker: None) -> Iterator[DrivenClient]:
    """Each of the clients in turn, with an owner's API key."""
    with opens(service.url, service.key) as client:
        yield client


@pytest.fixture
def worker(transactional_db: None) -> Iterator[None]:
    """Bring agents up and down and send events, as workers do, until the test ends."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(0.05):
            Agent.objects.filter(reconcile_at__isnull=False).update(reconcile_at=F("created_at"))
            reconciler.reconcile_due()
            delivery_loop.drain(ahead=timedelta(0))
            taking.take_due(timezone.now() + taking.LEASE)
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    ended.set()
    thread.join()


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.WEBHOOK_ALLOWED_CIDRS = [ip_network("127.0.0.0/8")]
    with Receiver().listening() as listening:
        yield listening


@pytest.fixture
def mcp() -> Iterator[McpHttpServer]:
    with McpHttpServer(require={"Authorization": "Bearer abc"}) as server:
        yield server


@pytest.fixture
def shops(
    stripe: StripeDouble, telegram: TelegramPayments, gumroad: GumroadServer, coins: Chain, settings: Any
) -> Shops:
    """An installation that sells in each way, and writes invoices."""
    settings.SELLER_NAME, settings.SELLER_COUNTRY = "Example Hosting SAS", "FR"
    return Shops(stripe, telegram, gumroad, coins)


class Hostile(Receiver):
    """A service that answers as the test says: `hostile.answers(…)`. `client()` calls it."""

    key = "ak_live_never-in-a-message"

    def client(self, *, retries: int = 0, seconds: float = 2.0) -> Agentpods:
        return Agentpods(f"http://127.0.0.1:{self.port}", self.key, timeout=seconds, max_retries=retries)


@pytest.fixture
def hostile() -> Iterator[Hostile]:
    with Hostile().listening() as listening:
        assert isinstance(listening, Hostile)
        yield listening


@pytest.fixture
def meets(opens: Opens, hostile: Hostile) -> Meets:
    """`meets(retries=0, seconds=2.0)`: each of the clients in turn calls `hostile`."""

    def opened(*, retries: int = 0, seconds: float = 2.0) -> AbstractContextManager[DrivenClient]:
        return opens(f"http://127.0.0.1:{hostile.port}", hostile.key, timeout=seconds, max_retries=retries)

    return opened


class Terminal:
    """Types commands where nobody can be asked. The key comes from the environment."""

    def __init__(self, url: str, key: str, home: Path) -> None:
        self.environment = {"AGENTPODS_URL": url, "AGENTPODS_API_KEY": key, "HOME": str(home), "COLUMNS": "200"}
        self.environment["XDG_CONFIG_HOME"] = str(home / ".config")

    def types(self, *words: str, said: str = "", **more: str) -> Result:
        done = CliRunner().invoke(app, words, input=said, env=self.environment | more)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done

    def tells(self, *words: str, said: str = "") -> list[Any]:
        """The objects of a command that must succeed."""
        done = self.types(*words, "--json", said=said)
        assert done.exit_code == 0, done.output
        return [json.loads(line) for line in done.stdout.splitlines()]


def streamed(*pieces: bytes) -> list[bytes]:
    """An answer that is a stream of events, without a length."""
    return [b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n", *pieces]
