"""What a caller prefers, in the header `Prefer` (RFC 7240). A preference that is not understood is ignored."""

from __future__ import annotations

import re

from rest_framework.request import Request

HEADER = "Prefer"
APPLIED = "Preference-Applied"
MAX_WAIT_SECONDS = 60

_WAIT = re.compile(r'(?:^|,)\s*wait\s*=\s*"?(\d{1,9})"?\s*(?=[,;]|$)', re.IGNORECASE)


def wait_seconds(request: Request) -> int:
    """How long the caller wants to wait for the result, in seconds; 0 without such a preference."""
    found = _WAIT.search(request.headers.get(HEADER, ""))
    return min(int(found[1]), MAX_WAIT_SECONDS) if found else 0
