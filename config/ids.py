"""Prefixed random ids: `agt_` and 24 lowercase hex digits."""

from __future__ import annotations

import re
import secrets

_SUFFIX_BYTES = 12
_EVENT_BYTES = 16
_SHAPE = re.compile(r"[a-z]+_[0-9a-f]{24,32}")


def new_id(prefix: str) -> str:
    """A new id such as `agt_0f…`. Events get 32 hex digits, all others 24."""
    return f"{prefix}_{secrets.token_hex(_EVENT_BYTES if prefix == 'evt' else _SUFFIX_BYTES)}"


def is_id(prefix: str, value: str) -> bool:
    """Whether `value` has the form of such an id, so that nonsense in a path never reaches the database."""
    return value.startswith(f"{prefix}_") and _SHAPE.fullmatch(value) is not None
