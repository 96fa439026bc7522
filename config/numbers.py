"""Numbers that callers send. One rule for all: in a body a JSON number, elsewhere plain ASCII digits.

Python and REST framework also take `5_0`, `+5`, ` 5`, `1e3`, `NaN` and the digits of other scripts where text is sent.
Other programs read these differently or not at all, so nothing here does.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from rest_framework import serializers

from config.api import json_type

# What came, beside what is allowed.
_BOUNDS: dict[str, Any] = {
    "min_value": "must be at least {min_value}, not %(show_value)s",
    "max_value": "must be at most {max_value}, not %(show_value)s",
}

_DIGITS = re.compile(r"[0-9]{1,18}")
_AMOUNT = re.compile(r"[0-9]{1,15}(?:[.,][0-9]{1,15})?")


class Whole(serializers.IntegerField):
    """A whole number in a body."""

    default_error_messages = _BOUNDS

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, int) or isinstance(data, bool):
            raise serializers.ValidationError(f"must be a whole number, not {json_type(data)}")
        return int(super().to_internal_value(data))


class UsdNumber(serializers.DecimalField):
    """Dollars and cents in a body."""

    default_error_messages = _BOUNDS | {
        "max_decimal_places": "has more than {max_decimal_places} decimal places",
        "max_whole_digits": "is too large: at most {max_whole_digits} digits before the point",
        "max_digits": "is too large: at most {max_digits} digits",
    }

    def __init__(self, *, max_digits: int, **kwargs: Any) -> None:
        super().__init__(
            max_digits=max_digits, decimal_places=2, min_value=Decimal("0.01"), coerce_to_string=False, **kwargs
        )

    def validate_empty_values(self, data: Any) -> tuple[bool, Any]:
        if isinstance(data, str):  # the framework takes a blank text for null, which is no limit
            return False, data
        return super().validate_empty_values(data)

    def to_internal_value(self, data: Any) -> Decimal:
        if isinstance(data, bool) or not isinstance(data, (int, float)):
            raise serializers.ValidationError(f"must be a number, not {json_type(data)}")
        return Decimal(super().to_internal_value(data))


class QueryNumber(serializers.IntegerField):
    """A whole number in a query."""

    default_error_messages = _BOUNDS

    def __init__(self, *, min_value: int, max_value: int, **kwargs: Any) -> None:
        super().__init__(min_value=min_value, max_value=max_value, **kwargs)

    def to_internal_value(self, data: Any) -> int:
        number = whole(data) if isinstance(data, str) else None
        if number is None:
            raise serializers.ValidationError(f"must be a whole number of {self.min_value} to {self.max_value}")
        return number


def whole(text: str) -> int | None:
    """The number in plain digits; None if the text is anything else."""
    return int(text) if _DIGITS.fullmatch(text) else None


def amount(text: str) -> float | None:
    """The amount that a person typed, also with a comma; None if the text is anything else."""
    return float(text.replace(",", ".")) if _AMOUNT.fullmatch(text) else None
