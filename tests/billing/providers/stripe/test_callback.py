"""Stripe's calls of our webhook: checked, stored at once, and handled later by a worker."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from rest_framework.test import APIClient

from billing.models import Payment, StripeEvent, StripeOrder
from tests.billing.conftest import Clock
from tests.billing.providers.stripe.shop import deliver, work
from tests.doubles.stripe_protocol import signature
from tests.doubles.stripe_server import SECRET, StripeDouble

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]


def event(kind: str = "invoice.paid", **changes: Any) -> str:
    about = {"id": "in_1", "object": "invoice"}
    told = {"id": "evt_1", "object": "event", "type": kind, "created": int(time.time()), "data": {"object": about}}
    return json.dumps({**told, **changes})


def post(body: str, *, secret: str = SECRET, ago: int = 0) -> int:
    return deliver(body, signature(body, secret=secret, at=int(time.time()) - ago))


@pytest.mark.parametrize("header", ["", "junk", "t=1,v1=", "t=x,v1=aa", "v1=aa", "t=99999999999999999999999,v1=ключ"])
@pytest.mark.parametrize("body", ["", "{not json", event()])
def test_without_a_good_signature_nothing_is_read(stripe: StripeDouble, header: str, body: str) -> None:
    assert deliver(body, header.encode("utf-8").decode("latin-1")) == 400
    assert not StripeEvent.objects.exists()


def test_the_signature_is_of_our_secret_of_this_body_and_of_now(stripe: StripeDouble, clock: Clock) -> None:
    assert post(event(), secret="whsec_another") == 400
    assert post(event(), ago=301) == 400
    assert deliver(event(id="evt_2"), signature(event(), secret=SECRET, at=int(time.time()))) == 400
    assert post(event(), ago=299) == 200


def test_while_a_secret_is_rotated_both_are_good(stripe: StripeDouble, settings: Any) -> None:
    settings.STRIPE_WEBHOOK_SECRETS = ["whsec_new", SECRET]
    assert (post(event(id="evt_1")), post(event(id="evt_2"), secret="whsec_new")) == (200, 200)
    settings.STRIPE_WEBHOOK_SECRETS = ["whsec_new"]
    assert (post(event(id="evt_3")), post(event(id="evt_4"), secret="whsec_new")) == (400, 200)


def test_while_nothing_is_configured_an_empty_secret_is_wrong_too(api: APIClient, settings: Any) -> None:
    settings.STRIPE_WEBHOOK_SECRETS = []
    assert post(event(), secret="") == 400


@pytest.mark.parametrize(
    "body", ["[]", "1", '"evt"', "null", "[" * 5_000, "{}", '{"object": "v2.core.event"}', "{not json"]
)
def test_a_signed_body_that_is_no_event_stores_nothing(stripe: StripeDouble, body: str) -> None:
    assert post(body) in {200, 400}
    assert not StripeEvent.objects.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "customer.created"},
        {"id": "evt/../x"},
        {"id": 5},
        {"data": None},
        {"data": {"object": {"id": "in_1/pay"}}},
        {"data": {"object": []}},
    ],
)
def test_what_does_not_matter_or_cannot_be_asked_about_is_left(stripe: StripeDouble, changes: dict[str, Any]) -> None:
    assert post(event(**changes)) == 200
    assert not StripeEvent.objects.exists()


def test_a_body_that_is_too_large_is_refused(stripe: StripeDouble) -> None:
    assert post(event(padding="x" * 600_000)) == 413


def test_an_event_is_stored_once_and_looked_at_by_a_worker(order: StripeOrder, stripe: StripeDouble) -> None:
    stripe.world.pay(order.session_id)
    assert set(stripe.told) == {200}
    assert not Payment.objects.exists(), "the answer does not wait for Stripe to be asked"
    for told in stripe.world.events:
        stripe.tell(told)
    kept = StripeEvent.objects.count()
    work()
    assert (Payment.objects.count(), StripeEvent.objects.filter(due_at=None).count()) == (1, kept)


def test_an_event_of_another_accounts_object_is_closed_and_shown(
    stripe: StripeDouble, caplog: pytest.LogCaptureFixture
) -> None:
    assert post(event()) == 200
    work()
    kept = StripeEvent.objects.get()
    assert (kept.due_at, kept.stray) == (None, "Stripe does not know it with our key")
