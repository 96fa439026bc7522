"""The rule for the id of a conversation. The web process, the gateway and the bridge share it."""

from __future__ import annotations

import re
from typing import TypeGuard

PERMITTED = "1 to 64 letters, digits, '-' or '_', beginning with a letter or digit"
# Engines get the id as an argument, so it must not begin with a dash.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def is_permitted(session_id: object) -> TypeGuard[str]:
    """Whether this value, which may be anything that JSON can hold, is the id of a conversation."""
    return isinstance(session_id, str) and _ID.fullmatch(session_id) is not None
