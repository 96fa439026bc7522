"""While somebody watches a pending order, the chain is read more often than the table of periodic jobs says."""

from __future__ import annotations

import redis

from billing.models import Order
from billing.vocabulary import OrderStatus
from config import background, redis_breaker

# At most one reading in this time, however many watch, and so many an hour for one account: each costs requests to the
# operator's nodes.
SECONDS = 3
OF_ONE_ACCOUNT = 40
_ASKED = "billing:scan-asked"
_HOUR_SECONDS = 3600


def look(order: Order) -> None:
    """Have the chain read now, if this order is pending. Without Redis it is read at its usual time."""
    if order.status != OrderStatus.PENDING:
        return
    try:
        is_due = redis_breaker.attempt(lambda client: _is_due(client, order.user_id))
    except redis_breaker.Away:
        return
    if is_due:
        background.on_commit("billing.scan_chain")


def _is_due(client: redis.Redis, account: str) -> bool:
    if not client.set(_ASKED, 1, nx=True, ex=SECONDS):
        return False
    key = f"{_ASKED}:{account}"
    with client.pipeline() as asked:
        asked.set(key, 0, nx=True, ex=_HOUR_SECONDS)
        asked.incr(key)
        return int(asked.execute()[1]) <= OF_ONE_ACCOUNT
