"""PAGES: when a person on a slow phone sees the largest part of a page, in Chromium, beside a page with one sentence.

The profile is Lighthouse's for a phone: 150 ms to the server and back, 1.6 Mbit/s, a processor four times as slow. Each
visit starts with an empty cache.
"""

from __future__ import annotations

import asyncio
import statistics
from dataclasses import dataclass, field
from datetime import timedelta

from django.utils import timezone
from playwright.async_api import Browser, Page

from agents import creation
from agents.models import Agent, AgentQuota, Desired, Status, UsageHour
from agents.watching import usage_hours
from benchmarks import customers, processes
from benchmarks.figures import Figure
from benchmarks.measuring import ROUNDS
from tests.browser import received, running_browser, signed_in, window

LIMIT_MS = 1_000
MOST_BYTES = 100_000
PHONE = 390
SLOW = {"offline": False, "latency": 150, "downloadThroughput": 1.6e6 / 8, "uploadThroughput": 750e3 / 8}
SLOWER_CPU = 4
CALM_SECONDS, PAINT_SECONDS = 0.5, 30
BARE = "one sentence"
_OBSERVE = """
globalThis.largestPaint = 0;
new PerformanceObserver(list => { for (const one of list.getEntries()) largestPaint = one.startTime; })
  .observe({ type: "largest-contentful-paint", buffered: true });
"""


@dataclass
class PageMeasurements:
    server: str
    address: str
    milliseconds: list[float] = field(default_factory=list)
    size: int = 0
    requests: int = 0


def measure() -> list[Figure]:
    customer = customers.one()
    agent = _agent(customer)
    with processes.web() as product, processes.web("benchmarks.baseline.settings") as baseline:
        ours = f"http://localhost:{product.port}"
        pages = {
            BARE: PageMeasurements(f"http://localhost:{baseline.port}", "/sentence"),
            "/": PageMeasurements(ours, "/en/"),
            "a persona": PageMeasurements(ours, "/en/p/exam-coach"),
            "/account": PageMeasurements(ours, "/account"),
            "an agent": PageMeasurements(ours, f"/account/agents/{agent.pk}"),
            "its usage, 30 days": PageMeasurements(ours, f"/account/agents/{agent.pk}/usage"),
        }
        asyncio.run(_visited(pages, signed_in(customer.user)))
    return [_figure(name, one, pages[BARE]) for name, one in pages.items() if name != BARE]


def _agent(customer: customers.Customer) -> Agent:
    """A running agent with a history of usage."""
    wanted = creation.NewAgent(persona_id="exam-coach", tier="tiny")
    agent = creation.create(customer.user, wanted, actor="benchmark")[0]
    now, mib = timezone.now(), 1 << 20
    Agent.objects.filter(pk=agent.pk).update(status=Status.RUNNING, desired=Desired.RUNNING, reconcile_at=None)
    sizes = {"memory_limit_bytes": 512 * mib, "disk_total_bytes": 2048 * mib, "agent": agent}
    used = {"memory_used_bytes": 300 * mib, "disk_used_bytes": 700 * mib}
    AgentQuota.objects.create(**sizes, **used, status="ok", since=now, updated_at=now - timedelta(seconds=5))
    UsageHour.objects.bulk_create(
        UsageHour(
            at=at, **sizes, memory_used_bytes=(number * 37 % 512) * mib, disk_used_bytes=(number * 3 % 2048) * mib
        )
        for number, at in enumerate(usage_hours.hours(now))
    )
    return agent


async def _visited(pages: dict[str, PageMeasurements], cookies: dict[str, str]) -> None:
    async with running_browser() as browser:
        for number in range(1 + ROUNDS):
            for one in pages.values():
                took = await _visit(browser, one, cookies)
                if number:  # the first round only warms up
                    one.milliseconds.append(took)


async def _visit(browser: Browser, seen: PageMeasurements, cookies: dict[str, str]) -> float:
    page = await window(browser, seen.server, width=PHONE, cookies=cookies)
    await page.add_init_script(_OBSERVE)
    protocol = await page.context.new_cdp_session(page)
    await protocol.send("Network.emulateNetworkConditions", SLOW)
    await protocol.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER_CPU})
    await page.goto(seen.address)
    took = await _painted(page)
    seen.size, seen.requests = await received(page), len(await page.requests())
    await page.context.close()
    return took


async def _painted(page: Page) -> float:
    """The time of the largest paint in milliseconds, after nothing larger has come for a while."""
    took = before = 0.0
    async with asyncio.timeout(PAINT_SECONDS):
        while not took or took != before:
            await asyncio.sleep(CALM_SECONDS)
            before, took = took, float(await page.evaluate("largestPaint"))
    return took


def _figure(name: str, page: PageMeasurements, bare: PageMeasurements) -> Figure:
    value = statistics.median(page.milliseconds)
    note = (
        f"{page.size:,} bytes in {page.requests} requests; {BARE} in turns with it: "
        f"{statistics.median(bare.milliseconds):.0f} ms; slowest round {max(page.milliseconds):.0f} ms"
    )
    is_ok = value <= LIMIT_MS and page.size < MOST_BYTES
    goal = f"<= {LIMIT_MS} ms, {MOST_BYTES // 1000} kB"
    return Figure(f"PAGES {name}: largest paint, slow phone", value, "ms", goal, is_ok, note)
