"""The pages of an agent in a real Chromium: they fit a phone and a desktop, and the browser reports no errors."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from playwright.async_api import expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from agents.configuring import a2a, tools
from agents.domains import claims
from agents.domains.records import DnsAnswers
from agents.models import Agent, AgentQuota
from pages.account.agents import sections
from tests.agents.conftest import GatewayOf, MakeAgent, settle
from tests.browser import asked_elsewhere, complaints, one_window, signed_in, width_of
from tests.doubles.bridge import BridgeDouble
from tests.doubles.receiver import Receiver, status
from webhooks import delivery_loop, events, hooks
from webhooks.event_types import EventType
from webhooks.models import Delivery

pytestmark = pytest.mark.browser

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
    """An agent with content on each of its pages, some of it long."""
    settings.MAX_TRIAL_TIER = "small"
    agent = settle(make_agent(engine="hermes", tier="small", name="Captain Zorblax the Long-Winded of Alpha Centauri"))
    tools.add_server(agent, {"name": "crm", "url": f"https://crm.example/{LONG}", "headers": {"Authorization": "x"}})
    tools.add_server(agent, {"name": "files", "command": "npx", "args": ["-y", "@scope/files"], "env": {"KEY": "x"}})
    a2a.replace(agent, {"enabled": True, "peers": [{"name": "ann", "url": "https://ann.example.com/a2a"}]})
    agent.refresh_from_db()
    seen = DnsAnswers(addresses=(), texts=frozenset())
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


async def _looked_at(server: str, agent: str, cookies: dict[str, str], *, width: int, dark: bool) -> list[str]:
    """The problems of the pages, one line each."""
    found = []
    async with one_window(server, cookies=cookies, width=width, dark=dark) as first:
        for name in [*sections.NAMES, "plan", "delete", "rebuild"]:
            async with await first.context.new_page() as page:
                await page.goto(f"/account/agents/{agent}{'/' if name else ''}{name}", wait_until="networkidle")
                if pictures := os.environ.get("PICTURES", ""):
                    shot = f"{name or 'agent'}-{width}-{'dark' if dark else 'light'}.png"
                    await page.screenshot(full_page=True, path=Path(pictures) / shot)
                if (wide := await width_of(page)) != width:
                    found.append(f"{name}: {wide} pixels wide")
                found += [f"{name}: {complaint}" for complaint in await complaints(page)]
                found += [f"{name}: asks {one}" for one in await asked_elsewhere(page, server)]
    return found


@pytest.mark.parametrize(("width", "dark"), [(PHONE, True), (DESK, False)])
def test_its_pages_fit_the_window_and_ask_no_other_host(
    live_server: LiveServer, full: Agent, owner: User, width: int, dark: bool
) -> None:
    cookies = signed_in(owner)
    assert asyncio.run(_looked_at(live_server.url, full.pk, cookies, width=width, dark=dark)) == []


def _delivered() -> None:
    Delivery.objects.filter(state="pending").update(next_attempt_at=timezone.now())
    delivery_loop.drain(ahead=timedelta(0))
    connection.close()


async def _tested(server: str, place: str, cookies: dict[str, str]) -> None:
    async with one_window(server, cookies=cookies) as page:
        await page.goto(place)
        await page.get_by_role("button", name="Send a test").click()
        state = page.locator("#deliveries .state").first
        await expect(state).to_have_text("on its way")
        await asyncio.to_thread(_delivered)
        await expect(state).to_have_text("delivered")
        assert await complaints(page) == []


def test_a_test_of_the_webhook_shows_by_itself_that_it_arrived(
    live_server: LiveServer, full: Agent, owner: User
) -> None:
    asyncio.run(_tested(live_server.url, f"/account/agents/{full.pk}/webhook", signed_in(owner)))
