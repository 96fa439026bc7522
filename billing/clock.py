"""The time of all that decides about money: a process whose clock is wrong decides nothing (config/clock.py)."""

from __future__ import annotations

from config.clock import ClockDiffers, now

__all__ = ["ClockDiffers", "now"]
