"""A platform with rows of nearly every kind."""

from __future__ import annotations

from tests.agents.conftest import catalog, runtime
from tests.accounts.console_pages.rows import console_rows

__all__ = ["catalog", "console_rows", "runtime"]
