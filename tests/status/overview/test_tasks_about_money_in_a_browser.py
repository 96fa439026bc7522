"""What an operator does about money, in a real Chromium, from the console's first page and without a manual."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.utils import timezone
from playwright.async_api import expect
from pytest_django.live_server_helper import LiveServer

from agents.models import Agent
from billing import payments
from billing.models import Payment
from billing.payments import Receipt
from billing.vocabulary import PaymentKind, Provider
from tests.accounts.factors.people import operator
from tests.agents.conftest import MakeAgent, settle
from tests.billing.conftest import purchase
from tests.config.console_walk import ConsoleWalk, walked

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
DAY = timedelta(days=1)


def paid(agent: Agent, external_id: str, **changes: Any) -> Payment:
    bought = purchase(**changes)
    receipt = Receipt(
        provider=bought.provider or Provider.INTERNAL, external_id=external_id, agent_id=agent.pk, purchase=bought
    )
    return payments.apply_payment(receipt, now=timezone.now())


def test_this_payment_is_refunded_with_the_reason(live_server: LiveServer, make_agent: MakeAgent) -> None:
    agent = settle(make_agent())
    kept, wrong = paid(agent, "charge-of-may"), paid(agent, "charge-of-june")

    async def steps(walk: ConsoleWalk) -> None:
        await walk.menu("Payments")
        await walk.search("charge-of-june")
        await walk.open("charge-of-june")
        await walk.step("Refund", "Refund", reason="paid twice by mistake")
        await walk.says("Refunded")

    walked(live_server.url, operator("finance"), steps)
    refund = Payment.objects.get(kind=PaymentKind.REFUND)
    assert (refund.refund_of, refund.reason) == (wrong, "paid twice by mistake")
    assert not Payment.objects.filter(refund_of=kept).exists()


def october() -> datetime:
    """The middle of the last October that is over."""
    now = timezone.now()
    return datetime(now.year if now.month > 10 else now.year - 1, 10, 15, 12, tzinfo=UTC)


def test_what_was_earned_in_october_by_provider(
    live_server: LiveServer, make_agent: MakeAgent, one_clock: None
) -> None:
    then = october()
    for days, provider, price in ((0, "usdc", 5), (1, "stripe", 10), (2, "stripe", 10), (31, "stripe", 99)):
        with time_machine.travel(then + days * DAY, tick=False):
            paid(settle(make_agent()), f"of day {days}", provider=Provider(provider), price_usd=Decimal(price))
    month = f"{then:%Y-%m}"

    async def steps(walk: ConsoleWalk) -> None:
        await walk.menu("Reports")
        await walk.fill("From", month)
        await walk.fill("to", month)
        await walk.button("Show")
        earned = walk.page.get_by_role("region", name="Earned by provider")
        for told in ("stripe 2 20.00 0.00 20.00", "usdc 1 5.00 0.00 5.00", "all 3 25.00 0.00 25.00"):
            await expect(earned.get_by_role("row", name=f"{month} {told}", exact=True)).to_be_visible()

    walked(live_server.url, operator("finance"), steps)


def test_an_agent_is_given_ten_more_days_and_the_reason_is_kept(live_server: LiveServer, make_agent: MakeAgent) -> None:
    agent = settle(make_agent(name="Night Owl"))
    make_agent(name="Day Owl")
    before = agent.entitled_until
    assert before is not None

    async def steps(walk: ConsoleWalk) -> None:
        await walk.menu("Agents")
        await walk.search("Night")
        await walk.open("Night Owl")
        await walk.link("Extend")
        await walk.fill("Days:", "10")
        await walk.confirm("Credit", reason="it was down for a weekend")
        await walk.says("Credited")

    walked(live_server.url, operator("finance"), steps)
    agent.refresh_from_db()
    assert agent.entitled_until is not None
    assert agent.entitled_until >= before + 10 * DAY
    given = Payment.objects.get(agent=agent)
    assert (given.kind, given.reason) == (PaymentKind.CREDIT, "it was down for a weekend")
