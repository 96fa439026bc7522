"""A card is charged for each period: in time, a little late, or not at all."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.core import mail
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.letters import send_due as send_letters
from agents.models import Agent
from billing import agent_terms
from billing.models import CardSubscription, Payment, Subscription
from billing.providers.stripe import feed
from tests.agents.conftest import event_types
from tests.billing.conftest import DAY, FREE_UNTIL, Clock, tick
from tests.billing.providers.stripe.conftest import ordered
from tests.billing.providers.stripe.shop import catch_up, work
from tests.doubles.stripe_server import StripeDouble, StripeFault

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


@pytest.fixture
def late(clock: Clock, agent: Agent, stripe: StripeDouble) -> CardSubscription:
    """The card was first charged after the free days, so the paid time ends exactly when the card is charged next."""
    clock.at(FREE_UNTIL + DAY)
    stripe.world.pay(ordered(agent, clock).session_id)
    work()
    tick(agent, clock)
    return CardSubscription.objects.get()


def paid_till() -> datetime:
    return Subscription.objects.get().current_period_end


def letters() -> list[str]:
    send_letters(now=timezone.now())
    return [str(one.subject) for one in mail.outbox]


def test_a_renewal_an_hour_late_follows_on_without_a_gap(
    late: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    end = Subscription.objects.get().current_period_end
    clock.at(end)
    invoice = stripe.world.period_ends(late.subscription_id)
    work()
    tick(agent, clock)
    assert agent_terms.term(agent, now=clock.now).mode == "paid", "its invoice is a draft: nobody knows yet"
    clock.go(HOUR)
    stripe.world.settle(invoice["id"])
    work()
    tick(agent, clock)
    assert (Payment.objects.count(), paid_till()) == (2, end.replace(year=2027, month=1))
    assert not {"deletion.warning", "agent.stopped"} & set(event_types(agent))


def test_a_card_from_the_31st_keeps_its_day(agent: Agent, stripe: StripeDouble, clock: Clock) -> None:
    clock.at(FREE_UNTIL.replace(month=12, day=31))
    card = stripe.world.pay(ordered(agent, clock).session_id)
    work()
    ends = [paid_till()]
    for _ in range(3):
        clock.at(Subscription.objects.get().current_period_end + HOUR)
        stripe.world.renew(card["id"])
        work()
        ends.append(paid_till())
    assert [f"{end:%m-%d %H}" for end in ends] == ["01-31 12", "02-28 12", "03-31 12", "04-30 12"]


def test_a_card_that_is_refused_begins_grace_and_its_owner_is_told_once(
    late: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    end = Subscription.objects.get().current_period_end
    clock.at(end + HOUR)
    invoice = stripe.world.fail(late.subscription_id)
    work()
    tick(agent, clock)
    term = agent_terms.term(agent, now=clock.now)
    assert (term.mode, term.stops_at) == ("grace", end + 3 * DAY)
    clock.go(HOUR)
    stripe.world.refuse(invoice["id"])
    work()
    told = [one for one in letters() if "charge" in one.lower() or "renew" in one.lower()]
    assert len(told) == 1
    body = next(one.body for one in mail.outbox if str(one.subject) == told[0])
    assert "Stripe" in body
    assert invoice["hosted_invoice_url"] in body


def test_a_later_try_that_works_pays_from_then_on(
    late: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    clock.at(Subscription.objects.get().current_period_end + HOUR)
    invoice = stripe.world.fail(late.subscription_id, action=True)
    work()
    tick(agent, clock)
    clock.go(2 * DAY)
    stripe.world.settle(invoice["id"])
    work()
    tick(agent, clock)
    assert agent_terms.term(agent, now=clock.now).mode == "paid"
    assert Subscription.objects.paid().get().current_period_end == clock.now.replace(year=2027, month=1)


def test_a_late_try_buys_a_month_from_then_on_also_where_no_worker_looked_meanwhile(
    late: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    clock.at(Subscription.objects.get().current_period_end + HOUR)
    invoice = stripe.world.fail(late.subscription_id)
    clock.go(6 * DAY)
    stripe.world.settle(invoice["id"])
    work()
    assert Subscription.objects.paid().get().current_period_end == clock.now.replace(year=2027, month=2)


def test_a_renewal_that_never_comes_counts_as_unpaid_after_a_week(
    late: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    end = Subscription.objects.get().current_period_end
    for days, mode in ((6, "paid"), (7, "grace")):
        clock.at(end + timedelta(days=days))
        tick(agent, clock)
        assert agent_terms.term(agent, now=clock.now).mode == mode


def test_nobody_is_reminded_of_an_end_that_a_card_renews(late: CardSubscription, agent: Agent, clock: Clock) -> None:
    clock.at(Subscription.objects.get().current_period_end - DAY)
    tick(agent, clock)
    assert Subscription.objects.get().reminded_at is None


def test_lost_webhooks_are_caught_up_with(late: CardSubscription, stripe: StripeDouble, clock: Clock) -> None:
    catch_up()
    stripe.lost = True
    clock.go(31 * DAY)
    stripe.world.renew(late.subscription_id)
    catch_up()
    clock.go(timedelta(minutes=5))
    assert catch_up() > 0
    work()
    assert Payment.objects.count() == 2


def test_a_new_key_reads_on_where_the_old_one_stopped(
    late: CardSubscription, stripe: StripeDouble, clock: Clock, settings: Settings
) -> None:
    """The old key expired before the renewal, and the webhook was lost too."""
    key, settings.STRIPE_SECRET_KEY = settings.STRIPE_SECRET_KEY, "sk_test_expired"
    catch_up()
    stripe.lost = True
    clock.go(31 * DAY)
    stripe.world.renew(late.subscription_id)
    clock.go(timedelta(hours=5))
    assert catch_up() == 0
    settings.STRIPE_SECRET_KEY = key
    assert catch_up() > 0
    work()
    assert Payment.objects.count() == 2


def test_a_list_that_cannot_be_read_is_read_again(late: CardSubscription, stripe: StripeDouble, clock: Clock) -> None:
    catch_up()
    stripe.lost = True
    stripe.world.renew(late.subscription_id)
    stripe.fail_next("GET /v1/events", StripeFault(status=500), StripeFault(status=429))
    assert (catch_up(), catch_up()) == (0, 0)
    catch_up()
    work()
    assert Payment.objects.count() == 2


def test_what_no_list_tells_any_more_is_found_by_the_daily_look(
    late: CardSubscription, stripe: StripeDouble, clock: Clock
) -> None:
    stripe.lost = True
    stripe.world.renew(late.subscription_id)
    stripe.world.events.clear()
    clock.go(DAY)
    assert feed.check_due(now=clock.now) == 1
    assert feed.check_due(now=clock.now) == 0
    assert Payment.objects.count() == 2


@pytest.mark.parametrize("status", [500, 429])
def test_a_look_without_an_answer_ends_nothing_and_is_taken_again(
    late: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock, status: int
) -> None:
    clock.go(DAY)
    stripe.fail_next("GET /v1/subscriptions", StripeFault(status=status))
    assert feed.check_due(now=clock.now) == 0
    tick(agent, clock)
    assert agent_terms.term(agent, now=clock.now).mode == "paid"
    clock.go(timedelta(minutes=5))
    assert feed.check_due(now=clock.now) == 1


def test_who_cancels_in_the_portal_keeps_what_is_paid_and_may_think_better_of_it(
    late: CardSubscription, client: APIClient, stripe: StripeDouble, clock: Clock
) -> None:
    for back, status in ((False, "canceled"), (True, "active"), (False, "canceled")):
        stripe.world.cancel_in_portal(late.subscription_id, back=back)
        work()
        assert Subscription.objects.get().status == status
    end = Subscription.objects.get().current_period_end
    clock.at(end)
    stripe.world.period_ends(late.subscription_id)
    work()
    tick(late.agent, clock)
    assert agent_terms.term(late.agent, now=clock.now).mode == "grace"
    assert Payment.objects.count() == 1
