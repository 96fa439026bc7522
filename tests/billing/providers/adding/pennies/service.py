"""The calls to Pennies."""

from __future__ import annotations

from django.conf import settings

from billing.providers.licence_http import NoAnswer, Reply, ask
from config.errors import Unavailable
from tests.billing.providers.adding.pennies import reasons


class PenniesAway(Unavailable):
    def __init__(self) -> None:
        super().__init__(reasons.AWAY, retry_after=30)


def url() -> str:
    """Where Pennies is. Empty if it is not set up."""
    return str(getattr(settings, "PENNIES_URL", ""))


def open_bill(order_id: str, *, cents: int) -> None:
    """Open a bill. Opening it twice is harmless. Raises PenniesAway."""
    _ask("bills", order=order_id, cents=str(cents))


def is_paid(order_id: str) -> bool:
    """Raises PenniesAway: no answer is not "unpaid"."""
    return _ask("paid", order=order_id).body.get("paid") is True


def _ask(call: str, **fields: str) -> Reply:
    try:
        reply = ask("pennies", f"{url()}/{call}", fields, per_minute=600)
    except NoAnswer as error:
        raise PenniesAway from error
    if reply.status != 200:
        raise PenniesAway
    return reply
