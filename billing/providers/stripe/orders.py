"""Orders by card: a checkout is opened, paid with a card, or closed if nobody paid."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.models import ApiKey
from agents.models import Agent, Desired
from billing import orders, prices, spending
from billing.errors import CouponRefused, NotConfigured
from billing.models import Order, StripeOrder
from billing.orders import Terms
from billing.providers.stripe import api, checkouts, configuration, customers, objects, refresh
from billing.providers.stripe.api import StripeAway, StripeRefused
from billing.providers.stripe.errors import StripeUnreadable
from billing.providers.stripe.refresh import StripeKind
from billing.vocabulary import OrderStatus, Period, Provider
from catalog.engines import check_tier, engine_of
from catalog.tiers import tier_of
from config import dry_run, waiting
from config.operator_settings import operator_settings

log = logging.getLogger(__name__)

TTL = timedelta(hours=1)
BATCH = 50
COMPLETE = "complete"
GIVEN_UP = timedelta(days=1)  # the settings may be wrong for a while


def order(
    agent: Agent, *, tier: str | None, period: Period, coupon: str = "", key: ApiKey | None = None, now: datetime
) -> StripeOrder:
    """The agent's pending order with these terms, with a checkout that can be paid.

    Stripe makes the checkout before a row is written: if Stripe fails, nothing is stored. Raises EngineBelowMinTier,
    NothingToPay, CouponRefused, NotConfigured, StripeAway, and the errors of orders.place.
    """
    spending.refuse_card(agent, key=key)
    if coupon:
        raise CouponRefused("coupons work for orders in coins and stars, not for payments by card")
    terms = Terms(Provider.STRIPE, tier or agent.tier, period)
    check_tier(engine_of(agent.engine), tier_of(terms.tier))
    prices.payable(tier_of(terms.tier), period)
    if not configuration.is_configured():
        raise NotConfigured("stripe", Provider.STRIPE)
    orders.refuse_held(agent, terms)
    expire_due(now=now, agent=agent)
    pending = orders.pending_of(agent)
    new = None if pending and terms.are_of(pending) else _opened(agent, terms, now=now)
    placed: Order | None = None
    try:
        placed = orders.place(agent, terms, make=lambda _: orders.stored(new), key=key, now=now)
    finally:
        is_lost = new is not None and (placed is None or placed.pk != new.id)  # refused, or a parallel order was first
        if new is not None and is_lost and new.checkout_url:  # a dry run has opened none
            api.close_checkout(new.session_id)
    return StripeOrder.objects.get(pk=placed.pk)


def _opened(agent: Agent, terms: Terms, *, now: datetime) -> StripeOrder:
    """A new order with its open checkout, not saved yet. In a dry run there is no checkout, so its address is empty."""
    price = prices.payable(tier_of(terms.tier), terms.period)
    new = orders.new(StripeOrder, agent, terms, ids="cso", price=price, lasts=TTL, now=now)
    if dry_run.skips(orders.PAYMENT_UNASKED):
        new.session_id = new.id  # the column is unique, and nobody shall wait for a row that goes away
        return new
    with waiting.looks.take(agent.user_id):
        new.customer_id = customers.customer_of(agent.user, now=now)
        form = checkouts.form(new, agent, taxed=operator_settings.STRIPE_TAX)
        opened = _read(api.open_checkout(form, key=new.id))
    if not opened.url.startswith("https://"):
        raise StripeAway("open a checkout", "answered without an address")
    new.session_id, new.checkout_url = opened.id, opened.url
    return new


def money_seen(wanted: StripeOrder) -> bool:
    """Whether the checkout was paid. If not, close it, so that nobody can pay it later. Raises StripeAway."""
    api.close_checkout(wanted.session_id)
    if _look(wanted) == COMPLETE:
        return True
    StripeOrder.objects.filter(pk=wanted.pk, status=OrderStatus.PENDING).update(expires_at=timezone.now())
    return False


def _look(wanted: StripeOrder) -> str:
    """The status of the order's checkout. Raises StripeAway."""
    try:
        return _read(api.session(wanted.session_id)).status
    except StripeRefused as refusal:
        log.exception("Stripe does not know a checkout of ours", extra={"order": wanted.pk})
        raise StripeAway("read a checkout", "refused") from refusal


def _read(told: objects.Json) -> objects.Checkout:
    try:
        return objects.checkout(told)
    except StripeUnreadable as error:
        raise StripeAway("read a checkout", str(error)) from error


def expire_due(*, now: datetime, agent: Agent | None = None) -> int:
    """Expire orders that nobody paid in time or whose agent is deleted, after asking Stripe.

    Returns how many were due.
    """
    over = Q(expires_at__lte=now) | Q(agent__desired=Desired.DELETED)
    found = StripeOrder.objects.filter(over, status=OrderStatus.PENDING)
    if agent is not None:
        found = found.filter(agent=agent)
    due = list(found.order_by("expires_at")[:BATCH])
    for wanted in due:
        _expire(wanted, now=now)
    return len(due)


def _expire(wanted: StripeOrder, *, now: datetime) -> None:
    """Expire the order, unless it was paid and we have not heard of it yet. Without an answer it stays pending.

    If Stripe is no longer set up, the order expires anyway after a day, so that its agent does not wait forever. Late
    money still pays it.
    """
    is_sold_no_more = not configuration.is_configured() and wanted.expires_at <= now - GIVEN_UP
    try:
        if not is_sold_no_more and not dry_run.skips(orders.PENDING_UNASKED) and money_seen(wanted):
            refresh.look(StripeKind.CHECKOUT, wanted.session_id, now=now)
            return
    except (StripeAway, StripeRefused, StripeUnreadable) as problem:
        log.warning("a checkout cannot be closed yet: %s", problem, extra={"order": wanted.pk})
        return
    with transaction.atomic():
        orders.expire(orders.locked(wanted.pk))
