"""The catalog and the runtime of tests/agents."""

from __future__ import annotations

from tests.agents.conftest import catalog, runtime

__all__ = ["catalog", "runtime"]
