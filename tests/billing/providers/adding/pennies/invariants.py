"""What must always be true of orders with Pennies."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from billing.models import Order
from billing.vocabulary import OrderStatus
from tests.billing.providers.adding.pennies.orders import ID


def _pending_too_long(now: datetime) -> Iterator[str]:
    late = Order.objects.filter(provider=ID, status=OrderStatus.PENDING, expires_at__lt=now - timedelta(hours=1))
    for order in late:
        yield f"{order.pk} is over and still waits for its pennies"


CHECKS = [_pending_too_long]
