"""While somebody watches a pending order, the chain is read more often than the table of periodic jobs says."""

from __future__ import annotations

from billing.models import Order
from billing.vocabulary import OrderStatus
from config import background, redis_breaker

# At most one reading in this time, however many watch: each costs requests to the operator's nodes.
SECONDS = 3
_ASKED = "billing:scan-asked"


def look(order: Order) -> None:
    """Have the chain read now, if this order is pending. Without Redis it is read at its usual time."""
    if order.status != OrderStatus.PENDING:
        return
    try:
        is_first = redis_breaker.attempt(lambda client: client.set(_ASKED, 1, nx=True, ex=SECONDS))
    except redis_breaker.Away:
        return
    if is_first:
        background.on_commit("billing.scan_chain")
