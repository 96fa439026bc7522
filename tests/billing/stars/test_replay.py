"""Real processes: many that tell the same at once, and ones that are killed in the middle."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from agents.models import Agent
from billing.models import Payment, StarsOrder, Stray, StrayCharge, Subscription
from tests.agents.conftest import event_types
from tests.billing.stars.conftest import SECRET
from tests.billing.stars.replay import Replay
from tests.doubles.telegram_payments_server import TOKEN, Json, TelegramPayments, message_of
from tests.workers import database_url

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def replay(telegram: TelegramPayments) -> Iterator[Replay]:
    environment = {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": database_url(),
        "TELEGRAM_API_URL": telegram.url,
        "STARS_BOT_TOKEN": TOKEN,
        "STARS_BOT_USERNAME": "agentpods_bot",
        "STARS_WEBHOOK_SECRET": SECRET,
        "LOG_LEVEL": "CRITICAL",
    }
    with Replay(environment) as processes:
        yield processes


def counted(agent: Agent) -> tuple[int, int, int]:
    events = event_types(agent).count("payment.confirmed")
    return Subscription.objects.count(), Payment.objects.filter(unapplied="").count(), events


def told(charge: Json) -> Json:
    return message_of(charge, "successful_payment")


def test_eight_processes_that_replay_two_charges_twenty_times_make_one_subscription_and_one_event(
    agent: Agent, order: StarsOrder, telegram: TelegramPayments, replay: Replay
) -> None:
    telegram.lost = True
    charges = [telegram.charge(order.invoice_link, person=person) for person in (77, 78)]
    updates = [{"update_id": 1, **told(charge)} for charge in charges]
    assert replay.run(updates, processes=8, times=20) == [0] * 8
    assert (counted(agent), Payment.objects.count()) == ((1, 1, 1), 2)
    assert StrayCharge.objects.get().why == Stray.SECOND


def test_31_a_process_that_is_killed_at_any_statement_leaves_all_of_the_payment_or_nothing(
    agent: Agent, order: StarsOrder, telegram: TelegramPayments, replay: Replay
) -> None:
    telegram.lost = True
    update = {"update_id": 1, **told(telegram.charge(order.invoice_link))}
    for number in range(1, 200):
        codes = replay.run([update], die_at=number)
        order.refresh_from_db()
        if codes == [0]:
            break
        assert codes == [-signal.SIGKILL]
        assert (*counted(agent), order.charge_id is not None) in [(0, 0, 0, False), (1, 1, 1, True)], number
    assert number > 15
    assert (counted(agent), order.charge_id is not None) == ((1, 1, 1), True)
