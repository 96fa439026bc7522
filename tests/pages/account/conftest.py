"""Agents, their owner, payments and a clock that tests move, as in tests/billing."""

from __future__ import annotations

from tests.agents.conftest import bridge, gateway_of
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

__all__ = ["bridge", "catalog", "client", "clock", "clock_first", "gateway_of", "make_agent", "other", "owner", "pay"]
__all__ += ["running", "runtime", "stranger"]
