"""How many files a server may have open: each connection is one, and many systems begin with 1,024."""

from __future__ import annotations

import resource


def allow(wanted: int) -> int:
    """Raise this process's limit to `wanted`, or as near to it as the system allows; the limit that holds then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(soft, allowed)
