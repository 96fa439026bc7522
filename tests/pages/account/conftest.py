"""Agents, their owner, payments and a clock that tests move, as in tests/billing."""

from __future__ import annotations

from tests.billing.conftest import (
    catalog,
    client,
    clock,
    clock_first,
    make_agent,
    other,
    owner,
    pay,
    running,
    runtime,
    stranger,
)

__all__ = ["catalog", "client", "clock", "clock_first", "make_agent", "other", "owner", "pay", "running", "runtime"]
__all__ += ["stranger"]
