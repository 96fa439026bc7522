"""The demo's payment steps without a service: against our views, a real seller of keys and a real chain."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from agentpods import Agentpods
from agents.models import Agent
from billing.providers.crypto import scanning
from config import env
from config.operator_settings.registry import OperatorSettings
from examples.checks import NotPrepared, Wrong
from examples.outside import Outside
from examples.paying import Paying
from examples.webhook_receiver import Received, WebhookReceiver
from webhooks.models import Event

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db]


class InProcess(httpx.BaseTransport):
    """Calls the views directly, and scans the chain before each request for an order."""

    def __init__(self, http: APIClient) -> None:
        self.http = http

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode()
        if request.method == "GET" and path.startswith("/crypto/orders"):
            scanning.scan(now=timezone.now())
        answer = self.http.generic(request.method, path, request.content.decode(), "application/json")
        return httpx.Response(answer.status_code, content=answer.content)


class DatabaseReceiver(WebhookReceiver):
    """A receiver that reads the events from the database instead of receiving them."""

    def wait_for(self, event_type: str, *, seconds: float, skip: int = 0) -> Received:
        rows = Event.objects.filter(type=event_type).order_by("created_at")
        return Received({}, rows[skip].body.encode(), verified=True)


@pytest.fixture
def outside() -> Iterator[Outside]:
    with Outside() as outside:
        yield outside


@pytest.fixture
def paying(outside: Outside, client: APIClient, running: Agent) -> Iterator[Paying]:
    receiver = DatabaseReceiver()
    pods = Agentpods("http://service.test", "", http=httpx.Client(transport=InProcess(client)))
    steps = Paying(pods, receiver, outside)
    steps.agent_id = running.pk
    yield steps
    receiver.shutdown()
    receiver.server_close()


@pytest.fixture
def reached(outside: Outside, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings that the demo tells its users to set."""
    for name, value in outside.settings().items():
        monkeypatch.setenv(name, value)
    settings.GUMROAD_URL = env.text("GUMROAD_URL")
    settings.GUMROAD_PRODUCTS = OperatorSettings.GUMROAD_PRODUCTS.first()
    settings.CRYPTO_RPC_URLS = env.words("CRYPTO_RPC_URLS")
    settings.CRYPTO_CHAIN_ID = env.number("CRYPTO_CHAIN_ID", 0)
    settings.CRYPTO_XPUB, settings.CRYPTO_FIRST_ADDRESS = env.secret("CRYPTO_XPUB"), env.text("CRYPTO_FIRST_ADDRESS")
    settings.CRYPTO_TOKENS = env.pairs("CRYPTO_TOKENS")


def test_every_step_holds(reached: None, paying: Paying) -> None:
    paying.read_ways()
    for step in paying.steps():
        step()


def test_a_service_that_sells_nothing_does_not_fit(paying: Paying) -> None:
    with pytest.raises(NotPrepared, match="licence keys"):
        paying.read_ways()


def test_a_service_that_asks_another_seller_does_not_fit(reached: None, paying: Paying, settings: Settings) -> None:
    with Outside() as another:
        settings.GUMROAD_URL = another.gumroad.url
        with pytest.raises(NotPrepared, match="another server"):
            paying.refuse_wrong_key()


def test_an_order_of_another_amount_is_noticed(reached: None, paying: Paying) -> None:
    paying.price = 6
    with pytest.raises(Wrong, match="to pay"):
        paying.order_in_usdt()
