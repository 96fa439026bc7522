"""Handle an update from Telegram. When `receive` returns, it is committed and need not come again."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from billing.providers.stars import charges, orders, telegram, updates
from billing.providers.stars.telegram import TelegramRefused

log = logging.getLogger(__name__)


def receive(update: Mapping[str, Any], *, now: datetime) -> None:
    """Answer a pre-checkout query, count a payment, or follow a refund. Other updates are ignored.

    Raises BadRequest for an update that cannot be read, and TelegramAway if the answer to a query did not arrive:
    Telegram then sends the update again.
    """
    query = updates.pre_checkout(update)
    if query is not None:
        _answer(query, now=now)
    if paid := updates.payment(update):
        charges.take(paid, now=now)
    if returned := updates.refund(update):
        charges.give_back(returned, now=now)


def _answer(query: updates.PreCheckout, *, now: datetime) -> None:
    refusal = orders.approve(query, now=now)
    try:
        telegram.answer_pre_checkout(query.id, refusal=refusal)
    except TelegramRefused:  # most likely too late: Telegram has given the purchase up, and our hold ends by itself
        log.exception("an answer to a pre-checkout query was refused", extra={"order": query.payload})
