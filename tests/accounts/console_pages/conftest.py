"""A platform with rows of nearly every kind."""

from __future__ import annotations

from tests.accounts.console_pages.rows import console_rows
from tests.agents.conftest import catalog, make_agent, owner, runtime

__all__ = ["catalog", "console_rows", "make_agent", "owner", "runtime"]
