"""Agents, payments and a clock, as in tests/billing."""

from __future__ import annotations

from tests.billing.conftest import (
    catalog,
    clock,
    clock_first,
    make_agent,
    owner,
    pay,
    running,
    runtime,
)

__all__ = ["catalog", "clock", "clock_first", "make_agent", "owner", "pay", "running", "runtime"]
