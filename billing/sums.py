"""Amounts of money as text for people, exact to the last digit."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from billing.models import CryptoOrder, Payment
from billing.providers.crypto import configuration
from billing.providers.stars.telegram import CURRENCY as STARS
from billing.vocabulary import Asset

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
    if payment.currency == STARS:
        return f"{payment.amount} Telegram Stars"
    decimals = _decimals(payment)
    if decimals is None:
        return payment.currency.upper()
    if payment.currency in Asset.values:
        return f"{exact(payment.amount, decimals)} {payment.currency.upper()}"
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
    """The number of decimals of the payment's currency. They differ between chains.

    For coins they are those of the payment's order, whose id is the first part of `external_id`, also for refunds.
    Without an order, those of the agent's newest order in the same coin, and without any, `coin_decimals`.
    """
    if payment.currency == STARS:
        return 0
    if payment.currency not in Asset.values:
        return CENT_DIGITS
    orders = CryptoOrder.objects.filter(agent=payment.agent_id, asset=payment.currency).order_by("-created_at")
    own, known = payment.external_id.partition(":")[0], orders.values_list("decimals", flat=True)
    found = known.filter(pk=own).first()
    found = known.first() if found is None else found
    return coin_decimals(payment.currency) if found is None else found


def face_value(units: Decimal, asset: str) -> Decimal:
    """The value of coins in USD, one dollar each, in whole cents."""
    return units.scaleb(-(coin_decimals(asset) or 0)).quantize(CENT, ROUND_HALF_UP)


def coin_decimals(asset: str) -> int | None:
    """The decimals of a coin that came without an order: from the settings, or else from the coin's newest order."""
    known = configuration.decimals(asset)
    if known is not None:
        return known
    return CryptoOrder.objects.filter(asset=asset).order_by("-created_at").values_list("decimals", flat=True).first()
