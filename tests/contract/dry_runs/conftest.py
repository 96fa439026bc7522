"""An agent that is paid for, at a clock that stands still."""

from __future__ import annotations

from tests.agents.conftest import other, stranger
from tests.billing.conftest import clock, clock_first, pay

__all__ = ["clock", "clock_first", "other", "pay", "stranger"]
