"""The pages of an agent in a real Chromium: they fit a phone and a desk, and break none of their own rules."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from accounts import sessions
from accounts.models import User
from agents import a2a, tools
from agents.domains import claims
from agents.domains.records import Seen
from agents.models import Agent, AgentQuota
from billing.pages import sections
from tests.agents.conftest import GatewayOf, MakeAgent, bridge, gateway_of, settle
from tests.billing.pages.hands import Hands
from tests.browser import Browser
from tests.doubles.bridge import BridgeDouble
from tests.doubles.receiver import Receiver, status
from webhooks import draining, events, hooks
from webhooks.models import Delivery, EventType

pytestmark = pytest.mark.browser
__all__ = ["bridge", "gateway_of"]

PHONE, DESK = 390, 1366
LONG = "an-endless-word-" * 12


@pytest.fixture
def receiver(settings: Any) -> Any:
    settings.WEBHOOK_ALLOWED_CIDRS = [ip_network("127.0.0.0/8")]
    with Receiver(behaviours=[status(204)]).listening() as listening:
        yield listening


@pytest.fixture
def full(
    make_agent: MakeAgent, gateway_of: GatewayOf, bridge: BridgeDouble, settings: Any, receiver: Receiver
) -> Agent:
    """An agent with something on each of its pages, some of it long."""
    settings.MAX_TRIAL_TIER = "small"
    agent = settle(make_agent(engine="hermes", tier="small", name="Captain Zorblax the Long-Winded of Alpha Centauri"))
    tools.add_server(agent, {"name": "crm", "url": f"https://crm.example/{LONG}", "headers": {"Authorization": "x"}})
    tools.add_server(agent, {"name": "files", "command": "npx", "args": ["-y", "@scope/files"], "env": {"KEY": "x"}})
    a2a.replace(agent, {"enabled": True, "peers": [{"name": "ann", "url": "https://ann.example.com/a2a"}]})
    agent.refresh_from_db()
    seen = Seen(addresses=(), texts=frozenset())
    claims.claim(agent, f"agent.{'long-name-' * 5}shop.example.org", seen=seen, actor="user:x")
    hooks.install(agent, url=receiver.url, now=timezone.now())
    for kind, data in (
        (EventType.DELETION_WARNING, {"daysLeft": 3, "keptDays": 30}),
        (EventType.AGENT_STOPPED, {"from": "running", "to": "stopped", "reason": "owner"}),
        (EventType.AGENT_RUNNING, {"from": "stopped", "to": "running"}),
    ):
        events.emit(agent, kind, data, now=timezone.now())
    Delivery.objects.update(state="failed", attempts=3, error="timeout", finished_at=timezone.now(), duration_ms=10_001)
    now, mib = timezone.now(), 1 << 20
    AgentQuota.objects.create(
        agent=agent, memory_used_bytes=800 * mib, memory_limit_bytes=1024 * mib, disk_used_bytes=4900 * mib,
        disk_total_bytes=5120 * mib, status="warn", since=now, updated_at=now,
    )  # fmt: skip
    settle(agent)
    gateway_of(agent)
    bridge.memory = {
        "skills": ["bread", LONG],
        "memories": [{"name": "USER.md", "content": f"Likes tea.\n{LONG}{LONG}"}],
        "sessions": 3,
        "is_cut": False,
    }
    agent.refresh_from_db()
    return agent


def signed_in(user: User) -> dict[str, str]:
    token = sessions.start(user, attribution=None, now=timezone.now())[1]
    return {"name": settings.ACCOUNT_COOKIE_NAME, "value": token}


async def _looked_at(server: str, agent: str, cookie: dict[str, str], *, width: int, dark: bool) -> list[str]:
    """What is wrong with the pages, a line each."""
    found = []
    async with Browser() as browser:
        await browser.call("Network.setCookie", url=server, httpOnly=True, **cookie)
        for name in [*sections.NAMES, "plan", "delete", "rebuild"]:
            place = f"/account/agents/{agent}{'/' if name else ''}{name}"
            picture = os.environ.get("PICTURES", "")
            visit = await browser.visit(server + place, width=width, dark=dark, picture=bool(picture))
            if picture:
                shot = Path(picture) / f"{name or 'agent'}-{width}-{'dark' if dark else 'light'}.png"
                shot.write_bytes(visit.picture)
            if visit.width != width:
                found.append(f"{name}: {visit.width} pixels wide")
            found += [f"{name}: {complaint}" for complaint in visit.complaints]
            found += [f"{name}: asks {one}" for one in visit.requests if not one.startswith(server)]
    return found


@pytest.mark.parametrize(("width", "dark"), [(PHONE, True), (DESK, False)])
def test_its_pages_fit_the_window_and_ask_no_other_host(
    live_server: LiveServer, full: Agent, owner: User, width: int, dark: bool
) -> None:
    cookie = signed_in(owner)
    assert asyncio.run(_looked_at(live_server.url, full.pk, cookie, width=width, dark=dark)) == []


def _delivered() -> None:
    Delivery.objects.filter(state="pending").update(next_attempt_at=timezone.now())
    draining.drain(ahead=timedelta(0))
    connection.close()


async def _tested(server: str, place: str, cookie: dict[str, str]) -> dict[str, object]:
    async with Browser() as browser:
        person = Hands(browser, server)
        await browser.call("Network.setCookie", url=server, httpOnly=True, **cookie)
        await person.open(place)
        await person.click("form[action$='/webhook/test'] button")
        state = "document.querySelector('#deliveries .state').textContent"
        before = await person.said(state)
        await asyncio.to_thread(_delivered)
        for _ in range(100):
            if await person.said("!document.querySelector('[data-look-again]')"):
                break
            await asyncio.sleep(0.2)
        return {"states": [before, await person.said(state)], "complaints": browser.visited.complaints}


def test_a_test_of_the_webhook_shows_by_itself_that_it_arrived(
    live_server: LiveServer, full: Agent, owner: User
) -> None:
    told = asyncio.run(_tested(live_server.url, f"/account/agents/{full.pk}/webhook", signed_in(owner)))
    assert told == {"states": ["on its way", "delivered"], "complaints": []}
