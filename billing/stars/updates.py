"""What Telegram tells us: pre-checkout queries, payments, refunds, transactions. Read strictly, and only what we need.

A body is a hint: whatever it says is held against our own order (facts: billing 6, rule 7).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from billing.providers.telegram import CURRENCY
from config.errors import BadRequest

MAX_TEXT = 200
MAX_NUMBER = 2**52  # ids of people at Telegram have at most 52 significant bits

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreCheckout:
    id: str
    payer_id: int
    currency: str
    amount: int
    payload: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """Stars that somebody paid. Its id is the payment's; the payload only says which order it was for."""

    id: str
    payer_id: int
    currency: str
    amount: int
    payload: str


def pre_checkout(update: Json) -> PreCheckout | None:
    """The query in an update, if it is one. Raises BadRequest for one that cannot be read."""
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


def payment(update: Json) -> Charge | None:
    """What was paid, if the update tells of that. Raises BadRequest."""
    return _charge(update, "successful_payment")


def refund(update: Json) -> Charge | None:
    """What was sent back, if the update tells of that. Raises BadRequest."""
    return _charge(update, "refunded_payment")


def _charge(update: Json, name: str) -> Charge | None:
    message = update.get("message")
    if not isinstance(message, Mapping) or name not in message:
        return None
    told = _object(message[name], name)
    return Charge(
        id=_text(told, "telegram_payment_charge_id"),
        payer_id=_id_of(message, "from" if "from" in message else "chat"),
        currency=_text(told, "currency"),
        amount=_number(told, "total_amount"),
        payload=_text(told, "invoice_payload"),
    )


def incoming(transaction: Json) -> Charge | None:
    """What a transaction of the list says was paid for an invoice. Raises BadRequest."""
    return _transferred(transaction, "source")


def outgoing(transaction: Json) -> Charge | None:
    """What a transaction of the list says was sent back to a person. Raises BadRequest."""
    return _transferred(transaction, "receiver")


def _transferred(transaction: Json, side: str) -> Charge | None:
    partner = transaction.get(side)
    if not isinstance(partner, Mapping) or partner.get("type") != "user" or _is_other_sale(partner):
        return None
    return Charge(
        id=_text(transaction, "id"),
        payer_id=_id_of(partner, "user"),
        currency=CURRENCY,
        amount=_number(transaction, "amount"),
        payload=_text(partner, "invoice_payload") if partner.get("invoice_payload") else "",
    )


def _is_other_sale(partner: Json) -> bool:
    """Gifts, paid media and the like: not by an invoice. Older servers do not say."""
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
