"""The ledger for owners: newest first, page by page, and only their own rows."""

from __future__ import annotations

import pytest

from accounts.models import User
from agents.models import Agent
from billing import ledger, payments
from billing.ledger import BadLedgerCursor
from billing.models import Payment
from billing.payments import Receipt
from billing.vocabulary import Provider
from tests.agents.conftest import MakeAgent
from tests.billing.conftest import DAY, NOON, purchase


def write(agent: Agent, number: int) -> Payment:
    """Write a row; two rows share each time."""
    receipt = Receipt(
        provider=Provider.USDC, external_id=f"{agent.pk} {number}", agent_id=agent.pk, purchase=purchase()
    )
    return payments.write(receipt, agent, now=NOON + number // 2 * DAY, unapplied="it came too late")


def test_pages_show_every_payment_once_newest_first(make_agent: MakeAgent) -> None:
    agent = make_agent()
    written = [write(agent, number) for number in range(7)]
    seen: list[Payment] = []
    cursor = None
    while not seen or cursor:
        page = ledger.page(agent, after=cursor, limit=3)
        seen, cursor = [*seen, *page.payments], page.cursor
    assert seen == sorted(written, key=lambda one: (one.at, one.pk), reverse=True)


def test_a_page_begins_only_at_ones_own_payment(make_agent: MakeAgent, stranger: User) -> None:
    agent, theirs = make_agent(), make_agent(stranger)
    foreign = write(theirs, 1)
    assert ledger.page(agent).payments == []
    with pytest.raises(BadLedgerCursor):
        ledger.page(agent, after=foreign.pk)
