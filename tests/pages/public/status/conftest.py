"""A fresh status for each test."""

from __future__ import annotations

from tests.status.conftest import fresh_status

__all__ = ["fresh_status"]
