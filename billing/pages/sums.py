"""Money as people read it, exact to the last digit."""

from __future__ import annotations

from decimal import Decimal

CENT_DIGITS = 2


def exact(units: Decimal | int, decimals: int) -> str:
    """Smallest units as a plain decimal number, without arithmetic that could round; whole coins without a point."""
    digits = f"{int(units):0{decimals + 1}d}"
    whole, part = digits[: len(digits) - decimals], digits[len(digits) - decimals :].rstrip("0")
    return f"{whole}.{part:0<{CENT_DIGITS}}" if part else whole
