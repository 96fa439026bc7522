"""What the orders of an API key with a spend limit cost together, and the refusal of an order that costs more.

An order counts from the moment it is placed, and for as long as somebody can still pay it. A paid order counts for
ever, also after a refund. A card is charged again and again, so such a key cannot order by card.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from django.db.models import Exists, OuterRef, Q, Sum

from accounts.models import ApiKey
from agents.errors import renew_url
from agents.models import Agent
from billing.models import Order
from billing.providers import registry
from billing.vocabulary import OrderStatus
from config.errors import Forbidden


class CardsCannotBeLimited(Forbidden):
    def __init__(self, agent: Agent) -> None:
        super().__init__(
            "scope: your key has a spend limit, and a card would be charged again each period; pay in another way"
            f" (GET /payment-providers), or let a person pay at {renew_url(agent.pk)}"
        )


class OverSpendLimit(Forbidden):
    def __init__(self, key: ApiKey, *, spent: Decimal, price: Decimal, agent: Agent) -> None:
        super().__init__(
            f"scope: this order costs {price:.2f} USD, and your key may order for {key.spend_limit_usd:.2f} USD in all,"
            f" of which {spent:.2f} are taken; a person pays at {renew_url(agent.pk)} or makes another key"
        )


def refuse_card(agent: Agent, *, key: ApiKey | None) -> None:
    """Raises CardsCannotBeLimited for a key with a spend limit."""
    if key is not None and key.spend_limit_usd is not None:
        raise CardsCannotBeLimited(agent)


def count(order: Order, *, key: ApiKey, now: datetime) -> None:
    """Count this new order for the key that places it. Raises OverSpendLimit.

    Call it in the transaction that places the order: the key stays locked, so two orders cannot take one rest.
    """
    known = ApiKey.objects.select_for_update(no_key=True).get(pk=key.pk)
    if known.spend_limit_usd is not None:
        spent = spent_by(known, now=now)
        if spent + order.price_usd > known.spend_limit_usd:
            raise OverSpendLimit(known, spent=spent, price=order.price_usd, agent=order.agent)
    order.placed_by = known.pk
    order.save(update_fields=["placed_by"])


def spent_by(key: ApiKey, *, now: datetime) -> Decimal:
    """What the key's orders cost together: those that are paid, and those that somebody can still pay."""
    same = Order.objects.filter(agent=OuterRef("agent"), provider=OuterRef("provider"))
    newer = same.filter(created_at__gt=OuterRef("created_at"))
    counted = Q(status__in=(OrderStatus.PAID, OrderStatus.PENDING)) | (_late(now) & ~Exists(newer))
    orders = Order.objects.filter(counted, placed_by=key.pk)
    return orders.aggregate(total=Sum("price_usd"))["total"] or Decimal(0)


def _late(now: datetime) -> Q:
    """The expired orders that late money can still pay."""
    late = Q(pk__in=())
    for provider in registry.PACKAGES:
        driver = registry.driver_of(provider)
        if driver is not None and driver.taken_late:
            late |= Q(provider=provider, expires_at__gt=now - driver.taken_late)
    return late & Q(status=OrderStatus.EXPIRED)
