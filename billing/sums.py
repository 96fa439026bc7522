"""Amounts of money as text for people, exact to the last digit."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from billing.models import Payment
from billing.providers import registry

CENT = Decimal("0.01")
CENT_DIGITS = 2


def share(usd: Decimal, *, of: Decimal, in_all: Decimal) -> Decimal:
    """The part `of / in_all` of a sum in USD, in whole cents. The whole gives exactly the sum."""
    return (usd * of / in_all).quantize(CENT, ROUND_HALF_UP)


def exact(units: Decimal | int, decimals: int) -> str:
    """Smallest units as a decimal number in plain digits, without rounding. Whole coins have no point."""
    digits = f"{int(units):0{decimals + 1}d}"
    whole, part = digits[: len(digits) - decimals], digits[len(digits) - decimals :].rstrip("0")
    return f"{whole}.{part:0<{CENT_DIGITS}}" if part else whole


def moved(payment: Payment) -> str:
    """The amount of a ledger row with its currency. If the amount is unknown, the price in USD."""
    if payment.amount is None:
        return f"{payment.price_usd or 0:f} USD"
    currency, decimals = registry.currencies().get(payment.currency), _decimals(payment)
    if currency and decimals is not None:
        return f"{exact(payment.amount, decimals)} {currency.name}"
    if currency:
        return currency.name
    return f"{payment.amount / 10**CENT_DIGITS:.2f} {payment.currency.upper()}"


def units(payment: Payment, typed: str) -> int:
    """An amount that somebody typed, such as `2.50`, in the smallest units of the payment's currency. 0 if it is
    invalid.
    """
    decimals = _decimals(payment)
    whole, _, part = typed.strip().partition(".")
    digits = f"{whole}{part:0<{decimals or 0}}"
    if decimals is None or len(part) > decimals or not (digits.isascii() and digits.isdigit()):
        return 0
    return int(digits)


def _decimals(payment: Payment) -> int | None:
    """The number of decimals of the payment's currency. None if nobody knows it."""
    currency = registry.currencies().get(payment.currency)
    return currency.decimals(payment) if currency else CENT_DIGITS


def face_value(units: Decimal, coin: str) -> Decimal:
    """The value of coins in USD, one dollar each, in whole cents."""
    decimals = registry.currencies()[coin].decimals() or 0
    return units.scaleb(-decimals).quantize(CENT, ROUND_HALF_UP)
