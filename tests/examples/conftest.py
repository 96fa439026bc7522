"""Agents and their owner as in tests/agents, and a `make run` as in tests/config."""

from __future__ import annotations

from tests.agents.conftest import catalog, client, make_agent, owner, running, runtime
from tests.config.conftest import base, make_run
from tests.status.conftest import closed_port

__all__ = ["base", "catalog", "client", "closed_port", "make_agent", "make_run", "owner", "running", "runtime"]
