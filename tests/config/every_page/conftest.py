"""An account with everything that its pages show: agents in each state, all ways to pay, personas, a deletion."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from accounts import keys
from accounts.models import User
from accounts.oauth.models import OAuthClient, OAuthGrant
from agents.backups.models import Backup, Kind, Stage
from agents.egress import rules
from agents.egress.models import EgressHost
from agents.models import Agent, AgentQuota, Reason, Repository, UsageHour
from agents.pod.gateway.replay.entries import EntryKind, TurnDoor
from agents.replay.models import ReplayEntry
from agents.running import lifecycle
from agents.talking import ticket
from agents.watching import usage_hours
from billing import payments, renewal
from billing.leaving import closing, exports
from billing.models import Invoice, Payment
from billing.payments import Receipt
from billing.renewal import WantedRenewal
from billing.vocabulary import Period, Provider
from catalog.models import Article, Persona
from config.crypto import sha256
from tests.agents.conftest import MakeAgent, bridge, catalog, gateway_of, make_agent, owner, runtime, settle
from tests.billing.conftest import purchase
from tests.billing.licences import KEY, SMALL
from tests.config.every_page.page_addresses import LEAVER, OWNER, PROGRAM
from tests.doubles.gumroad_server import GumroadServer
from tests.pages.account.agents.test_agent_in_a_browser import full, receiver

__all__ = ["bridge", "catalog", "full", "gateway_of", "make_agent", "owner", "receiver", "runtime"]

SECOND_KEY = "00112233-44556677-8899AABB-CCDDEEFF"
BACKUP = "2026-11-26-0300"


class PageWorld:
    """The people who visit the pages, and the values of the names in `page_addresses.py`."""

    ticket: str  # leads to the agent `full`'s own page

    def __init__(self, owner: User) -> None:
        self.people = {OWNER: owner, LEAVER: User.objects.create_user("leaver@example.com")}
        self.names: dict[str, str] = {"nobodys": "agt_000000000000000000000000", "backup": BACKUP}

    def filled(self, text: str) -> str:
        return text.format(**self.names)


@pytest.fixture
def world(
    owner: User,
    full: Agent,
    make_agent: MakeAgent,
    gumroad: GumroadServer,
    doors_of_money: None,
    settings: Any,
    tmp_path: Path,
) -> PageWorld:
    settings.MAX_FREE_AGENTS, settings.MAX_TRIALS = 20, 0
    settings.SELLER_NAME, settings.SUPPORT_EMAIL = "Pods Ltd", "help@example.com"
    settings.BACKUP_STORE, settings.BACKUP_URL = str(tmp_path / "store"), "http://127.0.0.1:9"
    made = PageWorld(owner)
    _agents(made, make_agent, gumroad)
    made.names["full"] = full.pk
    _backed_up(full)
    _measured(full)
    _did(full)
    _asked(full)
    _belongings(made)
    _farewell(made, make_agent, gumroad)
    made.ticket = ticket.mint(full).url
    return made


@pytest.fixture
def doors_of_money(gumroad: object, lemon: object, stripe: object, telegram: object, coins: object) -> None:
    """All payment providers are set up."""


def _agents(world: PageWorld, make_agent: MakeAgent, gumroad: GumroadServer) -> None:
    now = timezone.now()
    world.names["starting"] = make_agent(name="Starting").pk
    running: dict[str, Callable[[Agent], object]] = {
        "fresh": lambda agent: None,
        "paused": lambda agent: lifecycle.pause(agent, reason=Reason.OWNER, actor=f"user:{agent.user_id}"),
        "unpaid": _over,
        "failed": lambda agent: lifecycle.fail(
            agent, generation=1, cause="CRASH_LOOP", message="it ends", evidence=["x" * 200, "exit 1"], now=now
        ),
        "by_coin": lambda agent: _renewed(agent, Provider.USDT),
        "by_stars": lambda agent: _renewed(agent, Provider.STARS),
        "by_card": lambda agent: _renewed(agent, Provider.STRIPE),
        "licensed": lambda agent: _licensed(agent, gumroad, KEY),
        "paid": _paid,
    }
    for name, act in running.items():
        agent = settle(make_agent(name=name.capitalize(), tier="small" if name == "licensed" else "tiny"))
        act(agent)
        world.names[name] = agent.pk
    for name in ("paused", "unpaid"):
        settle(Agent.objects.get(pk=world.names[name]))
    AgentQuota.objects.create(
        agent_id=world.names["paused"], memory_used_bytes=1, memory_limit_bytes=9, disk_used_bytes=1,
        disk_total_bytes=9, status="paused", since=now, updated_at=now - timedelta(days=1),
    )  # fmt: skip


def _over(agent: Agent) -> None:
    """End the free time of the agent."""
    Agent.objects.filter(pk=agent.pk).update(trial_ends_at=timezone.now() - timedelta(days=1))
    lifecycle.pause(agent, reason=Reason.TRIAL, actor="billing")


def _paid(agent: Agent) -> None:
    """Pay with a coin, so that there is an invoice of ours."""
    bought = purchase(tier="small", price_usd=Decimal(10))
    receipt = Receipt(provider=Provider.USDC, external_id="one", agent_id=agent.pk, purchase=bought)
    payments.apply_payment(receipt, now=timezone.now())


def _renewed(agent: Agent, provider: Provider, key: str | None = None, *, tier: str = "tiny") -> None:
    wanted = WantedRenewal(tier=tier, period=Period.MONTHLY, provider=provider)
    renewal.renew(agent, wanted, license_key=key, actor=f"user:{agent.user_id}", now=timezone.now())


def _licensed(agent: Agent, gumroad: GumroadServer, key: str) -> None:
    began = (timezone.now() - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    gumroad.sell(key, SMALL, sold_at=began, purchase={"variants": "(Small)"})
    _renewed(agent, Provider.GUMROAD, key, tier="small")


def _backed_up(agent: Agent) -> None:
    now = timezone.now()
    Repository.objects.create(agent=agent, password="x", made_at=now)
    Backup.objects.create(
        agent=agent, name=BACKUP, kind=Kind.NIGHTLY, namespace=agent.namespace, generation=1, actor="nights",
        stage=Stage.DONE, asked_at=now, taken_at=now, ended_at=now, snapshot="abc", size=5_000_000,
    )  # fmt: skip


def _measured(agent: Agent) -> None:
    """Record a month of use, with gaps."""
    most = {"memory_limit_bytes": 1 << 30, "disk_total_bytes": 5 << 30}
    UsageHour.objects.bulk_create(
        UsageHour(
            agent=agent,
            at=at,
            memory_used_bytes=(300 + number * 37 % 700) << 20,
            disk_used_bytes=(700 + number * 6) << 20,
            **most,
        )
        for number, at in enumerate(usage_hours.hours(timezone.now()))
        if number % 50 > 4
    )


def _did(agent: Agent) -> None:
    """Record what the agent did, more than a page of it, with texts of strangers."""
    asked = {"asked": "x" * 200 + "…", "answered": "שלום " * 40, "error": "<b>no</b>"}
    ReplayEntry.objects.bulk_create(
        ReplayEntry(
            agent=agent,
            created_at=timezone.now() - timedelta(minutes=number),
            kind=list(EntryKind)[number % len(EntryKind)],
            door=list(TurnDoor)[number % len(TurnDoor)],
            session="s" * 128,
            model="openai:" + "m" * 230,
            tool="t" * 81,
            usd=Decimal("0.0000035"),
            ms=84,
            cause="MODEL_LIMIT",
            count=7 if number % len(EntryKind) == len(EntryKind) - 1 else None,
            texts=asked,
        )
        for number in range(60)
    )


def _asked(agent: Agent) -> None:
    """Limit the hosts that the agent asks, with long names and a secret, and count what it asked."""
    host = f"{'l' * 60}.{'m' * 60}.example.com"
    rules.replace(agent, is_limited=True, hosts=[host, "*.example.org"], actor="user:x")
    given = {"header": "X-" + "h" * 100, "value": "0123456789", "actor": "user:x"}
    rules.put_secret(agent, "N" * 64, hosts=[host, "api.example.com"], **given)
    today = timezone.now().date()
    for name, is_refused in ((f"{host}:443", False), ("evil.example:443", True), ("*", True), ("?", True)):
        EgressHost.objects.create(agent=agent, day=today, host=name, is_refused=is_refused, count=10**15)


def _belongings(world: PageWorld) -> None:
    owner, now = world.people[OWNER], timezone.now()
    world.names["key"] = keys.create(owner, name="laptop " * 7, now=now)[0].pk
    _programs()
    draft = Persona.objects.create(pk="my-owl", name="Night Owl", tier="tiny", category="study", owner=owner)
    Article.objects.create(persona=draft, slug="note", title="A note", status="published", body="# One\n\n- a")
    world.names |= {"draft": draft.pk, "payment": Payment.objects.filter(agent__user=owner).latest("at").pk}
    world.names["invoice"] = Invoice.objects.get().pk
    exports.ask(owner, lang="en", now=now)
    exports.make_due(now=now)


def _programs() -> None:
    """A program that asks on the page, and one that asks on a device."""
    now, taken = timezone.now(), ["authorization_code"]
    back = ["http://127.0.0.1/back"]
    OAuthClient.objects.create(id=PROGRAM, name="A program", redirect_uris=back, grant_types=taken, fetched_at=now)
    OAuthGrant.objects.create(
        digest=sha256("device"),
        user_code_digest=sha256("BBBB-CCCC"),
        client_id="agentpods-cli",
        client_name="agentpods",
        scope="read",
        expires_at=now + timedelta(hours=1),
    )


def _farewell(world: PageWorld, make_agent: MakeAgent, gumroad: GumroadServer) -> None:
    leaver = world.people[LEAVER]
    _licensed(settle(make_agent(leaver, tier="small", name="Left")), gumroad, SECOND_KEY)
    closing.ask(leaver, lang="en", now=timezone.now())
