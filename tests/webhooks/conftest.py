"""An agent with or without a webhook, a receiver on loopback that deliveries may reach, and a clock that tests move."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from agents.models import Agent, Status
from tests.doubles.certificates import Certificates
from tests.doubles.receiver import Receiver
from webhooks import delivery_loop, events, hooks, sender, testing
from webhooks.event_types import EventType
from webhooks.models import Delivery, Event, Hook
from webhooks.reports import AwaitedDelivery, DeliveryReport

MakeAgent = Callable[..., Agent]


@pytest.fixture
def make_agent(db: None) -> MakeAgent:
    """`make_agent(url=…)`: a running agent, with a webhook if it has a URL. Only rows: nothing is deployed."""
    return partial(agent_of, User.objects.create_user("owner@example.com"))


def agent_of(owner: User, url: str | None = None, **columns: Any) -> Agent:
    now, suffix = timezone.now(), secrets.token_hex(6)
    given = {"name": "Ada", "tier": "tiny", "engine": "pi", "status": Status.RUNNING, "persona_id": "x", **columns}
    agent = Agent.objects.create(
        user=owner, soul="", created_at=now, status_since=now, slug=f"ada-{suffix}", suffix=suffix, **given
    )
    if url is not None:
        hooks.install(agent, url=url, now=now)
    return agent


@pytest.fixture
def agent(make_agent: MakeAgent) -> Agent:
    """An agent without a webhook."""
    return make_agent()


@pytest.fixture
def hooked(make_agent: MakeAgent, receiver: Receiver) -> Agent:
    """An agent whose events go to the receiver."""
    return make_agent(receiver.url)


@pytest.fixture
def loopback(settings: Any) -> None:
    """The operator allows receivers on loopback."""
    settings.WEBHOOK_ALLOWED_CIDRS = [ip_network("127.0.0.0/8")]


@pytest.fixture
def receiver(loopback: None) -> Iterator[Receiver]:
    with Receiver().listening() as listening:
        yield listening


class HookClock:
    """A clock that only tests move."""

    def __init__(self) -> None:
        self.now = timezone.now()

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> datetime:
        self.now += timedelta(seconds=seconds)
        return self.now


@pytest.fixture
def clock(transactional_db: None) -> HookClock:
    """The clock of `deliver`. It needs committed rows, because a drain has its own connection."""
    return HookClock()


@pytest.fixture
def deliver(clock: HookClock) -> Callable[[], int]:
    """Deliver everything that is due on the test's clock. Returns the number of attempts."""
    return lambda: delivery_loop.drain(clock=clock, ahead=timedelta(0))


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The answers of the system's resolver, by name; other names do not exist."""
    table: dict[str, list[str]] = {}

    def getaddrinfo(host: str, *_: object, **__: object) -> list[tuple[Any, ...]]:
        if host not in table:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [(0, 0, 0, "", (address, 0)) for address in table[host]]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return table


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Certificates]:
    """A certificate authority that this process trusts during the test."""
    made = Certificates(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.authority))
    sender._tls.cache_clear()
    yield made
    sender._tls.cache_clear()


def emit(agent: Agent, event_type: EventType = EventType.AGENT_RUNNING, *, now: datetime | None = None) -> Event:
    """Write an event, as the life cycle does."""
    return events.emit(agent, event_type, {"from": "provisioning", "to": "running"}, now=now or timezone.now())


def outcome_of_test(agent: Agent) -> DeliveryReport:
    """Send a `test` event and wait for its outcome, as the API does."""
    awaited = testing.begin(agent)
    assert isinstance(awaited, AwaitedDelivery)
    try:
        return asyncio.run(awaited.report())
    finally:
        awaited.leave()


def delivery_of(event: Event) -> Delivery:
    return Delivery.objects.get(pk=event.pk)


def hook_of(agent: Agent) -> Hook:
    return Hook.objects.get(agent=agent)
