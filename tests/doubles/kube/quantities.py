"""Quantities in Kubernetes notation: `500m`, `1Gi`."""

from __future__ import annotations

import functools
import re
from fractions import Fraction

_FORM = re.compile(r"^([+-]?[0-9]+(?:\.[0-9]*)?|[+-]?\.[0-9]+)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]+)?$")
_SUFFIX = {
    "m": Fraction(1, 1000),
    **{suffix: Fraction(1000 ** (power + 1)) for power, suffix in enumerate(("k", "M", "G", "T", "P", "E"))},
    **{suffix: Fraction(1024 ** (power + 1)) for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))},
}


@functools.lru_cache(maxsize=1024)
def quantity(value: str | float) -> Fraction:
    """The value as a fraction. Raises ValueError if the text is not a quantity."""
    found = _FORM.match(str(value))
    if not found:
        raise ValueError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    number, suffix = found.groups()
    if suffix and suffix[0] in "eE" and suffix not in _SUFFIX:
        return Fraction(number) * Fraction(10) ** int(suffix[1:])
    return Fraction(number) * _SUFFIX.get(suffix or "", Fraction(1))


def text(value: Fraction, like: object) -> str:
    """`value` with the suffix of `like` if that gives a whole number, else without a suffix."""
    found = _FORM.match(str(like))
    suffix = (found.group(2) if found else None) or ""
    scaled = value / _SUFFIX.get(suffix, Fraction(1))
    if scaled.denominator == 1:
        return f"{scaled}{suffix if scaled else ''}"
    return f"{value}" if value.denominator == 1 else f"{int(value * 1000)}m"
