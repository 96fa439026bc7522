"""Numbers that somebody types. Python also reads `5_0`, `nan` and digits of other scripts, unlike the API."""

from __future__ import annotations

import re

_WHOLE = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)")


def number(typed: str) -> float:
    """Raises ValueError."""
    return float(_read(_NUMBER, typed))


def whole(typed: str) -> int:
    """Raises ValueError."""
    return int(_read(_WHOLE, typed))


def _read(form: re.Pattern[str], typed: str) -> str:
    if not form.fullmatch(typed):
        raise ValueError(f"{typed} is no number")
    return typed
