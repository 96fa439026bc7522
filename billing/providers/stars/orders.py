"""Orders for stars: the price in stars, the invoice, who may pay it, and when it expires."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import ROUND_CEILING, Decimal

from django.db import connection, transaction
from django.db.models import Q

from accounts.models import ApiKey
from agents.models import Agent, Desired
from billing import coupons, orders
from billing.errors import NotConfigured
from billing.models import StarsOrder
from billing.orders import Terms
from billing.providers.stars import bot, telegram
from billing.providers.stars.updates import PreCheckout
from billing.vocabulary import OrderStatus, Period, Provider
from catalog.engines import check_tier, engine_of
from catalog.tiers import tier_of
from config import dry_run, waiting
from config.ids import is_id
from config.operator_settings import operator_settings
from config.outgoing_mail import one_line

TTL = timedelta(hours=1)
HOLD = timedelta(minutes=10)  # how long Telegram keeps its form of payment open
BATCH = 500
DESCRIBED = {Period.MONTHLY: "one month", Period.ANNUAL: "one year"}

# One compare-and-set. It locks the order's row, so that the order cannot expire at the same moment.
_TAKE_HOLD = """
WITH payable AS (
    SELECT id FROM billing_order WHERE id = %(id)s AND status = 'pending' AND expires_at > %(now)s FOR UPDATE
)
UPDATE billing_starsorder SET hold_until = %(until)s, held_by = %(payer)s
FROM payable WHERE order_ptr_id = payable.id
    AND (hold_until IS NULL OR hold_until <= %(now)s OR held_by = %(payer)s)
"""


def in_stars(usd: Decimal, star_usd: Decimal) -> int:
    """A price in USD as whole stars, rounded up."""
    return int((usd / star_usd).to_integral_value(ROUND_CEILING))


def order(
    agent: Agent, *, tier: str | None, period: Period, coupon: str = "", key: ApiKey | None = None, now: datetime
) -> StarsOrder:
    """The agent's pending order with these terms, with an invoice that can be paid.

    Telegram makes the invoice before a row is written: if Telegram fails, nothing is stored. Raises EngineBelowMinTier,
    NothingToPay, CouponRefused, NotConfigured, TelegramAway, and the errors of orders.place.
    """
    terms = Terms(Provider.STARS, tier or agent.tier, period, coupon)
    check_tier(engine_of(agent.engine), tier_of(terms.tier))
    price = coupons.price(agent, tier_of(terms.tier), period, coupon, now=now)
    if not bot.is_configured():
        raise NotConfigured("stars", Provider.STARS)
    expire_due(now=now, agent=agent)
    pending = orders.pending_of(agent)
    new = None if pending and terms.are_of(pending) else _invoiced(agent, terms, price, now=now)
    placed = orders.place(agent, terms, make=lambda _: orders.stored(new), key=key, now=now)
    return StarsOrder.objects.get(pk=placed.pk)


def _invoiced(agent: Agent, terms: Terms, price: Decimal, *, now: datetime) -> StarsOrder:
    """A new order with its invoice, not saved yet. In a dry run there is no invoice, so its link is empty."""
    tier = tier_of(terms.tier)
    new = orders.new(StarsOrder, agent, terms, ids="stx", price=price, lasts=TTL, now=now)
    new.star_usd, new.amount_stars = operator_settings.STAR_USD, in_stars(price, operator_settings.STAR_USD)
    if dry_run.skips(orders.PAYMENT_UNASKED):
        return new
    with waiting.looks.take(agent.user_id):
        new.invoice_link = telegram.create_invoice_link(
            title=f"{tier.name}, {DESCRIBED[terms.period]}",
            description=one_line(f"{tier.name} for {agent.name}, {DESCRIBED[terms.period]} ({agent.pk})"),
            payload=new.id,  # not `pk`: the primary key is the parent row, which is not saved yet
            stars=new.amount_stars,
        )
    return new


def approve(query: PreCheckout, *, now: datetime) -> str | None:
    """Allow this payer to pay, and nobody else for ten minutes. Returns None, or the text that says why not.

    Telegram waits for the answer, so this is fast: one read by primary key, one compare-and-set.
    """
    if not is_id("stx", query.payload):
        return "This invoice is not known here."
    wanted = StarsOrder.objects.select_related("agent__user").filter(pk=query.payload).first()
    refusal = _refusal(wanted, query, now=now)
    if refusal or wanted is None:
        return refusal
    held = _take_hold(wanted.pk, payer=query.payer_id, now=now)
    return None if held else "Somebody is paying this invoice at the moment. Try again in ten minutes."


def _refusal(wanted: StarsOrder | None, query: PreCheckout, *, now: datetime) -> str | None:
    if wanted is None:
        return "This invoice is not known here."
    if wanted.status == OrderStatus.PAID:
        return "This invoice is paid already."
    if wanted.agent.desired == Desired.DELETED:
        return "The agent that this invoice is for has been deleted."
    if not wanted.agent.user.is_active:
        return "The account that this invoice is for is suspended, so it cannot be paid."
    if wanted.status == OrderStatus.EXPIRED or wanted.expires_at <= now:
        return "This invoice has expired. Make a new order and pay that one."
    if (query.currency, query.amount) != (telegram.CURRENCY, wanted.amount_stars):
        return "The amount is not that of the order. Make a new order and pay that one."
    return None


def _take_hold(order_id: str, *, payer: int, now: datetime) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_TAKE_HOLD, {"id": order_id, "payer": payer, "now": now, "until": now + HOLD})
        return bool(cursor.rowcount == 1)


def expire_due(*, now: datetime, agent: Agent | None = None) -> int:
    """Expire orders that nobody paid in time.

    A payer who was let through may still finish. Returns how many were due.
    """
    found = StarsOrder.objects.filter(_given_up(now))
    if agent is not None:
        found = found.filter(agent=agent)
    due = list(found.values_list("pk", flat=True)[:BATCH])
    for order_id in due:
        _expire(order_id, now=now)
    return len(due)


def _given_up(now: datetime) -> Q:
    free = Q(hold_until__isnull=True) | Q(hold_until__lte=now)
    return free & Q(status=OrderStatus.PENDING, expires_at__lte=now)


@transaction.atomic
def _expire(order_id: str, *, now: datetime) -> None:
    row = orders.locked(order_id)
    if StarsOrder.objects.filter(_given_up(now), pk=order_id).exists():
        orders.expire(row)
