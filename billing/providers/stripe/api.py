"""The part of Stripe's API that selling by card needs. A driver: it uses no rows and no transaction.

A call returns Stripe's object, or raises `StripeRefused` (understood, and not done) or `StripeAway` (no clear answer:
the call may have been done). Each POST has an idempotency key, so it can be repeated after `StripeAway`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.conf import settings

from config import waiting
from config.errors import Unavailable
from config.operator_settings import operator_settings

if TYPE_CHECKING:
    import stripe
    from stripe.params.checkout import SessionCreateParams

log = logging.getLogger(__name__)

# The API version that this code was written for. A newer library uses a newer version: read its changes first.
VERSION = "2026-10-28.endive"
RETRY_SECONDS, REFUSED_SECONDS = 5, 60
PAGE = 100
GONE = "resource_missing"
REFUNDED = "charge_already_refunded"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedItem:
    """What a subscription charges for: `cents` of `currency` for each `interval` (month or year)."""

    id: str
    product: str
    cents: int
    currency: str
    interval: str


class StripeAway(Unavailable):
    """No answer, or an unclear one: the call may have been done."""

    def __init__(self, call: str, problem: str, *, retry_after: int = RETRY_SECONDS) -> None:
        super().__init__(f"Stripe: {call}: {problem}; try again", retry_after=retry_after)


class StripeRefused(Exception):
    """Stripe understood the call and did not do it."""

    def __init__(self, call: str, status: int, code: str, words: str) -> None:
        super().__init__(f"{call}: {status} {code}: {words[:200]}")
        self.code = code


def make_customer(*, email: str, user_id: str) -> str:
    """The id of this account's customer at Stripe. Repeated calls within a day give the same one."""
    made = _ask(
        "make a customer",
        lambda client: client.v1.customers.create(
            {"email": email, "metadata": {"user": user_id}}, {"idempotency_key": f"customer:{user_id}"}
        ),
    )
    return str(made.get("id") or "")


def delete_customer(customer_id: str) -> None:
    """Delete the customer with its addresses, cards and subscriptions. Calling this twice is harmless."""
    try:
        _ask("delete a customer", lambda client: client.v1.customers.delete(customer_id))
    except StripeRefused as refusal:
        if refusal.code != GONE:
            raise


def open_checkout(form: SessionCreateParams, *, key: str) -> Json:
    """Open a Checkout Session.

    Raises StripeAway also if Stripe refuses: the operator must repair that, not the buyer.
    """
    try:
        return _ask(
            "open a checkout", lambda client: client.v1.checkout.sessions.create(form, {"idempotency_key": key})
        )
    except StripeRefused as refusal:
        log.error("Stripe opens no checkout: %s", refusal)
        raise StripeAway("open a checkout", "refused", retry_after=REFUSED_SECONDS) from refusal


def close_checkout(session_id: str) -> None:
    """Close the checkout, so that nobody can pay it.

    Succeeds if it is closed or paid already; `session` tells which.
    """
    try:
        _ask(
            "close a checkout",
            lambda client: client.v1.checkout.sessions.expire(
                session_id, {}, {"idempotency_key": f"close:{session_id}"}
            ),
        )
    except StripeRefused as refusal:
        log.info("a checkout was not open any more: %s", refusal)


def open_portal(customer_id: str, *, return_url: str) -> str:
    """The URL where the customer changes the card, or cancels."""
    made = _ask(
        "open the portal",
        lambda client: client.v1.billing_portal.sessions.create({"customer": customer_id, "return_url": return_url}),
    )
    url = made.get("url")
    if not isinstance(url, str) or not url.startswith("https://"):
        raise StripeAway("open the portal", "answered without an address")
    return url


def session(session_id: str) -> Json:
    return _ask("read a checkout", lambda client: client.v1.checkout.sessions.retrieve(session_id))


def subscription(subscription_id: str) -> Json:
    return _ask("read a subscription", lambda client: client.v1.subscriptions.retrieve(subscription_id))


def cancel(subscription_id: str) -> None:
    """Cancel at once, without a charge or a refund: we count the paid time ourselves.

    Calling this twice is harmless.
    """
    try:
        _ask(
            "cancel a subscription",
            lambda client: client.v1.subscriptions.cancel(subscription_id, {"prorate": False, "invoice_now": False}),
        )
    except StripeRefused as refusal:
        if refusal.code != GONE:  # a canceled subscription cannot be found any more
            raise


def reprice(subscription_id: str, item: PricedItem, *, cents: int, key: str) -> None:
    """Charge this price, including tax, from the next period on. Nothing is charged or refunded now."""
    price: Any = {
        "currency": item.currency,
        "product": item.product,
        "recurring": {"interval": item.interval},
        "tax_behavior": "inclusive",
        "unit_amount": cents,
    }
    form: Any = {"items": [{"id": item.id, "price_data": price}], "proration_behavior": "none"}
    _ask(
        "change a price",
        lambda client: client.v1.subscriptions.update(subscription_id, form, {"idempotency_key": key}),
    )


def invoice(invoice_id: str) -> Json:
    """The invoice, with its payments."""
    return _ask("read an invoice", lambda client: client.v1.invoices.retrieve(invoice_id, {"expand": ["payments"]}))


def tax_rate(rate_id: str) -> Json:
    return _ask("read a tax rate", lambda client: client.v1.tax_rates.retrieve(rate_id))


def refunds(charge_id: str, *, after: str = "") -> tuple[list[Json], bool]:
    """One page of a charge's refunds, and whether there are more. `after` is the last id of the page before."""
    form: Any = {"charge": charge_id, "limit": PAGE, **({"starting_after": after} if after else {})}
    return _page_of("list refunds", _ask("list refunds", lambda client: client.v1.refunds.list(form)))


def invoice_of(payment_intent: str) -> str | None:
    """The id of the invoice that this payment paid."""
    found = _ask(
        "find an invoice",
        lambda client: client.v1.invoice_payments.list(
            {"payment": {"type": "payment_intent", "payment_intent": payment_intent}, "limit": 1}
        ),
    )
    paid = next(iter(found.get("data") or []), None)
    name = paid.get("invoice") if isinstance(paid, Mapping) else None
    return name if isinstance(name, str) else None


def charge(charge_id: str) -> Json:
    return _ask("read a charge", lambda client: client.v1.charges.retrieve(charge_id))


def dispute(dispute_id: str) -> Json:
    return _ask("read a dispute", lambda client: client.v1.disputes.retrieve(dispute_id))


def refund(payment_intent: str, *, cents: int | None, key: str) -> None:
    """Refund so many cents of a payment; None: all that is left. Succeeds if it was refunded before."""
    wanted: Any = {"payment_intent": payment_intent, **({} if cents is None else {"amount": cents})}
    try:
        _ask("refund", lambda client: client.v1.refunds.create(wanted, {"idempotency_key": key}))
    except StripeRefused as refusal:
        if refusal.code != REFUNDED:
            raise


def events(types: list[str], *, since: datetime, until: datetime, after: str = "") -> tuple[list[Json], bool]:
    """One page of events, newest first, and whether there are more. `after` is the last id of the page before."""
    created = {"gte": int(since.timestamp()), "lte": int(until.timestamp())}
    form: Any = {"types": types, "created": created, "limit": PAGE, **({"starting_after": after} if after else {})}
    return _page_of("list events", _ask("list events", lambda client: client.v1.events.list(form)))


def payouts(*, since: datetime, after: str = "") -> tuple[list[Json], bool]:
    """One page of payouts to our bank, newest first, and whether there are more."""
    form: Any = {"created": {"gte": int(since.timestamp())}, "limit": PAGE}
    form |= {"starting_after": after} if after else {}
    return _page_of("list payouts", _ask("list payouts", lambda client: client.v1.payouts.list(form)))


def balance_transactions(payout_id: str, *, after: str = "") -> tuple[list[Json], bool]:
    """One page of the movements in an automatic payout, each with its charge or refund."""
    form: Any = {"payout": payout_id, "limit": PAGE, "expand": ["data.source"]}
    form |= {"starting_after": after} if after else {}
    name = "list movements of a payout"
    return _page_of(name, _ask(name, lambda client: client.v1.balance_transactions.list(form)))


def _page_of(name: str, found: Json) -> tuple[list[Json], bool]:
    listed = found.get("data")
    if not isinstance(listed, list):
        raise StripeAway(name, "answered without a list")
    return [one for one in listed if isinstance(one, dict)], bool(found.get("has_more"))


def _ask(name: str, call: Callable[[stripe.StripeClient], stripe.StripeObject]) -> Json:
    """Call Stripe. Returns plain JSON. Raises StripeAway, StripeRefused."""
    import stripe  # noqa: PLC0415 # takes half a second, so only where Stripe is used

    from billing.providers.stripe.http import BoundedClient  # noqa: PLC0415

    waiting.release_connection()
    client = stripe.StripeClient(
        operator_settings.STRIPE_SECRET_KEY,
        stripe_version=VERSION,
        base_addresses={"api": settings.STRIPE_URL},
        max_network_retries=0,
        http_client=BoundedClient(),
    )
    try:
        return call(client).to_dict()
    except (stripe.AuthenticationError, stripe.PermissionError) as error:
        log.error("Stripe does not take our key for: %s (HTTP %s)", name, error.http_status)
        problem, wait = "our key is refused", REFUSED_SECONDS
    except (stripe.InvalidRequestError, stripe.CardError) as error:
        raise StripeRefused(name, error.http_status or 0, error.code or "", error.user_message or "") from None
    except stripe.StripeError as error:
        problem, wait = _problem(error), RETRY_SECONDS
    raise StripeAway(name, problem, retry_after=wait)


def _problem(error: stripe.StripeError) -> str:
    """The problem in our own words: Stripe's text may quote the whole answer."""
    return f"HTTP {error.http_status}" if error.http_status else "no answer"
