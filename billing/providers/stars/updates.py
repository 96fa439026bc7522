"""Parse what Telegram sends: pre-checkout queries, payments, refunds, transactions. Strict, and only the fields we
need.

The content is only a hint: the rules compare it with our own order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from billing.providers.stars.telegram import CURRENCY
from config.errors import BadRequest

MAX_TEXT = 200
MAX_NUMBER = 2**52  # Telegram's user ids have at most 52 significant bits

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreCheckout:
    id: str
    payer_id: int
    currency: str
    amount: int
    payload: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StarsCharge:
    """A payment in stars. Its id is Telegram's charge id; the payload only says which order it was for."""

    id: str
    payer_id: int
    currency: str
    amount: int
    payload: str


def pre_checkout(update: Json) -> PreCheckout | None:
    """The pre-checkout query in an update, or None. Raises BadRequest if it cannot be read."""
    query = update.get("pre_checkout_query")
    if query is None:
        return None
    query = _object(query, "pre_checkout_query")
    return PreCheckout(
        id=_text(query, "id"),
        payer_id=_id_of(query, "from"),
        currency=_text(query, "currency"),
        amount=_number(query, "total_amount"),
        payload=_text(query, "invoice_payload"),
    )


def payment(update: Json) -> StarsCharge | None:
    """The payment in an update, or None. Raises BadRequest."""
    return _charge(update, "successful_payment")


def refund(update: Json) -> StarsCharge | None:
    """The refund in an update, or None. Raises BadRequest."""
    return _charge(update, "refunded_payment")


def _charge(update: Json, name: str) -> StarsCharge | None:
    message = update.get("message")
    if not isinstance(message, Mapping) or name not in message:
        return None
    told = _object(message[name], name)
    return StarsCharge(
        id=_text(told, "telegram_payment_charge_id"),
        payer_id=_id_of(message, "from" if "from" in message else "chat"),
        currency=_text(told, "currency"),
        amount=_number(told, "total_amount"),
        payload=_text(told, "invoice_payload"),
    )


def incoming(transaction: Json) -> StarsCharge | None:
    """The payment for an invoice in a transaction of the list, or None. Raises BadRequest."""
    return _transferred(transaction, "source")


def outgoing(transaction: Json) -> StarsCharge | None:
    """The refund to a person in a transaction of the list, or None. Raises BadRequest."""
    return _transferred(transaction, "receiver")


def _transferred(transaction: Json, side: str) -> StarsCharge | None:
    partner = transaction.get(side)
    if not isinstance(partner, Mapping) or partner.get("type") != "user" or _is_other_sale(partner):
        return None
    return StarsCharge(
        id=_text(transaction, "id"),
        payer_id=_id_of(partner, "user"),
        currency=CURRENCY,
        amount=_number(transaction, "amount"),
        payload=_text(partner, "invoice_payload") if partner.get("invoice_payload") else "",
    )


def _is_other_sale(partner: Json) -> bool:
    """Whether the payment is not for an invoice but for a gift, paid media and so on. Older servers do not say so."""
    return bool(partner.get("transaction_type", "invoice_payment") != "invoice_payment")


def _object(value: Any, name: str) -> Json:
    if not isinstance(value, Mapping):
        raise BadRequest(f"{name}: must be an object")
    return value


def _text(fields: Json, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_TEXT or not value.isprintable():
        raise BadRequest(f"{name}: must be a text of 1 to {MAX_TEXT} printable characters")
    return value


def _number(fields: Json, name: str) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_NUMBER:
        raise BadRequest(f"{name}: must be a whole number of 1 or more")
    return value


def _id_of(fields: Json, name: str) -> int:
    return _number(_object(fields.get(name), name), "id")
