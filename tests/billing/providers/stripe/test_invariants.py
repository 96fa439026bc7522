"""The daily check of the books, for cards."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from accounts.models import User
from billing import invariants
from billing.models import CardSubscription, Payment, StripeEvent, StripeInvoice, StripeRefund
from tests.billing.conftest import DAY, Clock
from tests.billing.providers.stripe.shop import work
from tests.doubles.stripe_server import StripeDouble, StripeFault

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]

HOURS = timedelta(hours=3)


def broken(clock: Clock) -> list[str]:
    return invariants.broken(now=clock.now)


def test_a_card_that_was_charged_contradicts_nothing(card: CardSubscription, clock: Clock) -> None:
    assert broken(clock) == []


def test_an_event_that_nobody_looks_at_is_told(card: CardSubscription, clock: Clock) -> None:
    StripeEvent.objects.update(due_at=clock.now - HOURS, done_at=None)
    assert all("is not processed" in one for one in broken(clock))
    assert len(broken(clock)) == StripeEvent.objects.count()


def test_a_subscription_that_stripe_still_has_is_told(card: CardSubscription, clock: Clock) -> None:
    CardSubscription.objects.update(canceled_at=clock.now - HOURS, cancel_at=None)
    assert [one.endswith("Stripe may still charge the card") for one in broken(clock)] == [True]


def test_a_subscription_that_nobody_reads_is_told(card: CardSubscription, clock: Clock) -> None:
    CardSubscription.objects.update(read_at=clock.now - 4 * DAY)
    assert ["has reported nothing about" in one for one in broken(clock)] == [True]


def test_two_cards_for_one_agent_are_told(card: CardSubscription, clock: Clock) -> None:
    card.pk, card.subscription_id = None, "sub_another"
    card.save(force_insert=True)
    assert ["is charged twice" in one for one in broken(clock)] == [True]


def test_a_payment_without_its_invoice_is_told(card: CardSubscription, clock: Clock) -> None:
    StripeInvoice.objects.update(payment=None)
    assert len(broken(clock)) == 2


def test_a_refund_that_nobody_sends_is_told_and_waits_in_the_books(card: CardSubscription, clock: Clock) -> None:
    StripeRefund.objects.create(
        payment=Payment.objects.get(),
        payment_intent="pi_1",
        refund_at=clock.now - HOURS,
        actor="operator:x",
        reason="asked for it",
        asked_at=clock.now - HOURS,
    )
    assert ["Stripe is not asked for it" in one for one in broken(clock)] == [True]
    client = Client()
    client.force_login(User.objects.create_superuser("operator@example.com"))
    books = client.get("/admin/billing/books/").content.decode()
    assert "Stripe is not asked for it" in books
    assert "Card refunds that are not done" in books


def test_what_stripe_has_not_done_shows_its_words(card: CardSubscription, stripe: StripeDouble, clock: Clock) -> None:
    CardSubscription.objects.update(canceled_at=clock.now)
    stripe.fail_next("DELETE /v1/subscriptions", StripeFault(status=500))
    work()
    card.refresh_from_db()
    assert "HTTP 500" in card.last_error
    client = Client()
    client.force_login(User.objects.create_superuser("operator@example.com"))
    assert "HTTP 500" in client.get("/admin/billing/cardsubscription/").content.decode()
    for model in ("stripeorder", "stripeinvoice", "stripeevent", "stripedispute", "striperefund", "stripecustomer"):
        assert client.get(f"/admin/billing/{model}/").status_code == 200, model
