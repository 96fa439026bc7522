"""Scenes of payments, each for its own agent: the requests that report them, repetitions, and the expected result."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from dateutil.relativedelta import relativedelta
from django.db import connection
from django.test import Client

from accounts import sessions
from accounts.models import User
from agents.models import Agent, Desired, Status
from agents.running import lifecycle
from billing import agent_terms, invariants
from billing.models import CryptoOrder, StarsOrder, StrayCharge, Subscription
from billing.providers.crypto import orders as crypto_orders
from billing.providers.crypto import settling
from billing.providers.stars import orders as stars_orders
from billing.vocabulary import Asset, OrderStatus, Period, TermMode
from tests import operating
from tests.agents.conftest import MakeAgent, settle
from tests.billing.conftest import DAY, NOON, Clock, tick
from tests.billing.providers.stars.bot import SECRET
from tests.billing.replaying.stage import WorkOrder, tell
from tests.doubles.chain import Chain
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.lemonsqueezy_server import LemonSqueezyServer
from tests.doubles.telegram_payments_server import Json, TelegramPayments, message_of
from webhooks import hooks
from webhooks.models import Delivery, Event, State

MONTH, TWO_MONTHS = NOON.replace(month=12), NOON.replace(year=2027, month=1)
MINUTE = timedelta(minutes=1)
STEP = WorkOrder(rule="billing.dunning.step_due")
DUE = WorkOrder(task="billing.verify_due")


@dataclass(kw_only=True)
class Scene:
    """A payment. `again` has the ways in which it may be reported after a crash; each must repair everything."""

    told: Sequence[WorkOrder]
    again: Sequence[Sequence[WorkOrder]]
    check: Callable[[], None]
    now: datetime = NOON
    wait: timedelta = MINUTE
    agents: Sequence[Agent] = field(default_factory=list)

    @property
    def later(self) -> datetime:
        return self.now + self.wait


@dataclass
class ProviderWorld:
    """The payment providers. People pay here, but nobody reports the payments: the processes do that."""

    make_agent: MakeAgent
    gumroad: GumroadServer
    lemon: LemonSqueezyServer
    telegram: TelegramPayments
    clock: Clock
    chain: Chain | None = None
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    def agent(self) -> Agent:
        """An agent with its own account and webhook."""
        agent = self.make_agent(User.objects.create_user(f"payer-{next(self.numbers)}@example.com"))
        hooks.install(agent, url="http://receiver.example.com/hook", now=NOON)
        return agent

    def rest(self) -> None:
        """Make sure that nothing from earlier scenes is due."""
        Agent.objects.update(desired=Desired.DELETED, status=Status.DELETED, term_due_at=None, reconcile_at=None)
        Subscription.objects.update(check_at=None)

    def stopped(self, agent: Agent, *, at: datetime) -> None:
        """Let time pass without a payment until the agent is stopped."""
        settle(agent)
        self.clock.at(at)
        tick(agent, self.clock)
        self.clock.at(NOON)

    def sent_back(self, *charges: Json) -> list[str]:
        """The ids of the charges among these that were sent back, once for each time."""
        ids = {one["telegram_payment_charge_id"] for one in charges}
        return [one["id"] for one in self.telegram.transactions if "receiver" in one and one["id"] in ids]


def held_locks() -> int:
    """The locks of killed processes that PostgreSQL has not released yet."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select count(*) from pg_locks join pg_stat_activity using (pid) where datname = current_database()"
            " and pid <> pg_backend_pid() and (locktype = 'advisory' or state like 'idle in transaction%%')"
        )
        return int(cursor.fetchone()[0])


def paid_once(
    agent: Agent, *, kinds: Sequence[str] = ("payment",), events: int = 1, till: datetime | None = None
) -> None:
    """Check that one payment counts, until a provider's date or for a month after the free week."""
    row = Subscription.objects.get(agent=agent)
    begins = max(row.payments.get(kind="payment").at, agent.created_at + timedelta(days=7))
    till = till or begins + relativedelta(months=1)
    found = (row.status, row.current_period_end, sorted(agent.payments.values_list("kind", flat=True)))
    assert found == ("active", till, sorted(kinds)), found
    told(agent, events)
    agent.refresh_from_db()
    assert agent.paid
    assert agent_terms.term(agent, now=till - MINUTE).paid_till == till


def told(agent: Agent, events: int) -> None:
    confirmed = Event.objects.filter(agent=agent, type="payment.confirmed")
    found = confirmed.count(), Delivery.objects.filter(event__in=confirmed).count()
    assert found == (events, events), found


def sound(now: datetime) -> None:
    Delivery.objects.update(state=State.DELIVERED, finished_at=now)  # no worker sends deliveries here
    found = invariants.broken(now=now)
    assert found == [], found


# Licences.


def buys(agent: Agent, key: str, provider: str) -> WorkOrder:
    """The owner's request with the key, and with an Idempotency-Key."""
    token = sessions.start(agent.user, attribution=None, now=NOON)[1]
    return WorkOrder(
        path="/subscriptions",
        body={"agentId": agent.pk, "period": "monthly", "provider": provider, "licenseKey": key},
        headers={"Authorization": f"Bearer {token}", "Idempotency-Key": key},
    )


def ping(key: str) -> WorkOrder:
    """Gumroad's webhook for this key."""
    return WorkOrder(path="/payments/gumroad/callback", body=urlencode({"license_key": key}), form=True)


def hook(key: str) -> WorkOrder:
    """Lemon Squeezy's webhook for this key."""
    body = {"meta": {"event_name": "license_key_updated"}, "data": {"type": "license-keys", "attributes": {"key": key}}}
    return WorkOrder(path="/payments/lemonsqueezy/callback", body=body)


def activate(asked: WorkOrder) -> None:
    """Send this request before the scene begins."""
    assert tell(replace(asked, headers={"Authorization": asked.headers["Authorization"]})) == 200


def gumroad_bought(world: ProviderWorld) -> Scene:
    agent, key = world.agent(), f"GUM-{next(world.numbers)}"
    sale = world.gumroad.sell(key)
    asked = buys(agent, key, "gumroad")

    def check() -> None:
        paid_once(agent, till=MONTH)
        assert sale.uses <= 1

    return Scene(told=[asked], again=[[asked, STEP], [asked, ping(key), DUE, STEP]], check=check, agents=[agent])


def gumroad_renewed(world: ProviderWorld) -> Scene:
    agent, key = world.agent(), f"GUM-{next(world.numbers)}"
    world.gumroad.sell(key)
    activate(buys(agent, key, "gumroad"))

    def check() -> None:
        paid_once(agent, kinds=["payment", "renewal"], events=2, till=TWO_MONTHS)

    again = [[ping(key), DUE, STEP], [DUE, STEP]]
    return Scene(told=[ping(key), DUE], again=again, check=check, now=MONTH, wait=6 * MINUTE, agents=[agent])


def lemon_bought(world: ProviderWorld) -> Scene:
    agent, key = world.agent(), f"LEMON-{next(world.numbers)}"
    licence = world.lemon.sell(key, limit=5)
    asked = buys(agent, key, "lemonsqueezy")

    def check() -> None:
        paid_once(agent, till=MONTH)
        assert list(licence.instances.values()) == [agent.pk], licence.instances

    again = [[asked, STEP], [asked, hook(key), DUE, STEP]]
    return Scene(told=[asked], again=again, check=check, wait=6 * MINUTE, agents=[agent])


def lemon_renewed(world: ProviderWorld) -> Scene:
    agent, key = world.agent(), f"LEMON-{next(world.numbers)}"
    licence = world.lemon.sell(key)
    activate(buys(agent, key, "lemonsqueezy"))
    licence.expires_at = TWO_MONTHS.isoformat()

    def check() -> None:
        paid_once(agent, kinds=["payment", "renewal"], events=2, till=TWO_MONTHS)
        assert licence.instances == {Subscription.objects.get(agent=agent).instance: agent.pk}

    again = [[hook(key), DUE, STEP], [DUE, STEP]]
    return Scene(told=[hook(key), DUE], again=again, check=check, now=MONTH, wait=6 * MINUTE, agents=[agent])


def lemon_released(world: ProviderWorld) -> Scene:
    """The agent is deleted, and the activation is given back."""
    agent, key = world.agent(), f"LEMON-{next(world.numbers)}"
    licence = world.lemon.sell(key)
    activate(buys(agent, key, "lemonsqueezy"))
    lifecycle.delete(agent, actor="user:x")

    def check() -> None:
        row = Subscription.objects.get(agent=agent)
        assert (row.status, row.instance, licence.instances) == ("expired", "", {})
        assert row.check_at is not None  # the card may be charged again
        told(agent, 1)

    return Scene(told=[DUE], again=[[DUE]], check=check, now=NOON + DAY, wait=61 * MINUTE, agents=[agent])


# Stablecoins.


def ordered(world: ProviderWorld, agent: Agent) -> CryptoOrder:
    return crypto_orders.place(agent, asset=Asset.USDT, tier=None, period=Period.MONTHLY, now=NOON)


def deposit(world: ProviderWorld, order: CryptoOrder) -> None:
    if world.chain is None:
        raise RuntimeError("a world without a chain")
    world.chain.usdt.send(order.deposit_address.address, int(order.amount))
    world.chain.final()


def _counted(order: CryptoOrder, agent: Agent) -> None:
    paid_once(agent)
    row = CryptoOrder.objects.get(pk=order.pk)
    assert (row.status, row.credited, row.tx_hash is None) == (OrderStatus.PAID, row.amount, False)
    assert sum(one.amount for one in row.deposits.all()) == row.amount


def crypto_paid(world: ProviderWorld) -> Scene:
    agent = world.agent()
    order = ordered(world, agent)
    deposit(world, order)
    scan = WorkOrder(task="billing.scan_chain")
    again = [[scan, STEP], [scan, WorkOrder(task="billing.watch_chain"), STEP]]
    return Scene(told=[scan], again=again, check=lambda: _counted(order, agent), agents=[agent])


def crypto_late(world: ProviderWorld) -> Scene:
    agent = world.agent()
    order = ordered(world, agent)
    settling.expire(order.pk)
    deposit(world, order)
    watch = WorkOrder(task="billing.watch_chain")

    def check() -> None:
        _counted(order, agent)
        assert agent.payments.get().late

    return Scene(told=[watch], again=[[watch, STEP]], check=check, agents=[agent])


# Stars.


def update(paid: Json, name: str = "successful_payment", *, person: int = 77) -> WorkOrder:
    body = {"update_id": 1, **message_of(paid, name, person=person)}
    headers = {"X-Telegram-Bot-Api-Secret-Token": SECRET}
    return WorkOrder(path="/payments/stars/callback", body=body, headers=headers)


def _invoice(world: ProviderWorld, agent: Agent) -> StarsOrder:
    world.telegram.lost = True
    return stars_orders.order(agent, tier=None, period=Period.MONTHLY, now=NOON)


def stars_paid(world: ProviderWorld) -> Scene:
    agent = world.agent()
    order = _invoice(world, agent)
    paid = world.telegram.charge(order.invoice_link)

    def check() -> None:
        paid_once(agent)
        order.refresh_from_db()
        assert (order.status, order.charge_id) == (OrderStatus.PAID, paid["telegram_payment_charge_id"])

    again = [[update(paid), STEP], [WorkOrder(task="billing.reconcile_stars"), STEP]]
    return Scene(told=[update(paid)], again=again, check=check, agents=[agent])


def stars_twice(world: ProviderWorld) -> Scene:
    """Two people pay one invoice, and one of them gets the Stars back."""
    agent = world.agent()
    order = _invoice(world, agent)
    first, second = (world.telegram.charge(order.invoice_link, person=one) for one in (77, 78))
    updates = [update(first), update(second, person=78)]
    send = WorkOrder(task="billing.send_back_stars")

    def check() -> None:
        paid_once(agent, kinds=["payment", "payment", "refund"])
        stray = StrayCharge.objects.get(order=order)
        charges = {one["telegram_payment_charge_id"] for one in (first, second)}
        order.refresh_from_db()
        assert {stray.charge_id, order.charge_id} == charges
        assert stray.refunded_at is not None
        assert world.sent_back(first, second) == [stray.charge_id]

    again = [[*updates, send, STEP], [WorkOrder(task="billing.reconcile_stars"), send, STEP]]
    return Scene(told=[*updates, send], again=again, check=check, wait=2 * MINUTE, agents=[agent])


def stars_refunded(world: ProviderWorld) -> Scene:
    """An operator refunds a payment in the console."""
    agent = world.agent()
    paid = world.telegram.charge(_invoice(world, agent).invoice_link)
    operator, console = User.objects.create_superuser(f"operator-{next(world.numbers)}@example.com"), Client()
    console.force_login(operator)
    assert tell(update(paid)) == 200
    page = operating.choose(console, "/admin/billing/agentterm/", "refund", agent)
    seen, value = page.context["seen"]
    body = urlencode({seen: value, "reason": "asked for it", "confirm": "1"})
    cookie = {"Cookie": "; ".join(f"{name}={one.value}" for name, one in console.cookies.items())}
    path = f"{page.request['PATH_INFO']}?{page.request['QUERY_STRING']}"
    asked = WorkOrder(path=path, body=body, form=True, headers=cookie)
    send = WorkOrder(task="billing.send_back_stars")

    def check() -> None:
        assert Subscription.objects.get(agent=agent).status == "expired"
        assert sorted(agent.payments.values_list("kind", flat=True)) == ["payment", "refund", "refund"]
        assert set(agent.payments.filter(kind="refund").values_list("reason", flat=True)) == {"asked for it"}
        assert world.sent_back(paid) == [paid["telegram_payment_charge_id"]]
        told(agent, 1)

    return Scene(told=[asked, send], again=[[asked, send, STEP]], check=check, wait=2 * MINUTE, agents=[agent])


def stars_after_the_end(world: ProviderWorld) -> Scene:
    """The trial is over and the pod is stopped: a payment now starts the agent again."""
    agent = world.agent()
    now = NOON + 8 * DAY
    world.stopped(agent, at=now)
    paid = world.telegram.charge(stars_orders.order(agent, tier=None, period=Period.MONTHLY, now=now).invoice_link)

    def check() -> None:
        paid_once(agent)
        assert (agent.desired, agent.trial_notice_day) == ("running", None)
        assert agent_terms.term(agent, now=now).mode == TermMode.PAID
        assert list(agent.lapses.values_list("ended_at", flat=True)) != [None]
        assert Event.objects.filter(agent=agent, type="deletion.warning").count() == 1

    again = [[update(paid), STEP], [WorkOrder(task="billing.reconcile_stars"), STEP]]
    return Scene(told=[update(paid), STEP], again=again, check=check, now=now, agents=[agent])


def warned(world: ProviderWorld) -> Scene:
    """Nobody pays and the trial ends soon: the owner gets an event and a mail."""
    agent = world.agent()
    mail = WorkOrder(task="accounts.send_letters")

    def check() -> None:
        assert Event.objects.filter(agent=agent, type="deletion.warning").count() == 1
        letters = list(agent.user.letters.values_list("mailed_at", flat=True))
        assert len(letters) == 1, letters
        assert letters[0] is not None
        told(agent, 0)

    again = [[STEP, mail]]
    return Scene(told=[STEP, mail], again=again, check=check, now=NOON + 4 * DAY, wait=61 * MINUTE, agents=[agent])


Make = Callable[[ProviderWorld], Scene]
OFF_CHAIN: list[Make] = [
    gumroad_bought,
    gumroad_renewed,
    lemon_bought,
    lemon_renewed,
    lemon_released,
    stars_paid,
    stars_twice,
    stars_refunded,
    stars_after_the_end,
    warned,
]
ON_CHAIN: list[Make] = [crypto_paid, crypto_late]
