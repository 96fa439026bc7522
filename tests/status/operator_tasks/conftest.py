"""Agents, their owner and a runtime that does what the test says, as in tests/agents."""

from __future__ import annotations

from tests.agents.conftest import catalog, make_agent, owner, runtime

__all__ = ["catalog", "make_agent", "owner", "runtime"]
