"""A platform with rows of nearly every kind."""

from __future__ import annotations

from tests.accounts.console_pages.rows import console_rows
from tests.agents.conftest import catalog, runtime

__all__ = ["catalog", "console_rows", "runtime"]
