"""The limit of open files.

Each connection of a server is an open file, and many systems start with a limit of 1,024.
"""

from __future__ import annotations

import resource


def allow(wanted: int) -> int:
    """Raise this process's limit to `wanted`, or as near as the system allows. Return the new limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(soft, allowed)
