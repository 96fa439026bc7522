"""Starts the whole service (running.py)."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.accounts.conftest import redis_away
from tests.agents.conftest import catalog, make_agent, owner, runtime
from tests.config.running import ENVIRONMENT, PROGRAMS, ROOT, SETTINGS, MakeRun, Run, can_run_us

__all__ = [
    "ENVIRONMENT",
    "PROGRAMS",
    "ROOT",
    "SETTINGS",
    "MakeRun",
    "Run",
    "can_run_us",
    "catalog",
    "make_agent",
    "owner",
    "redis_away",
    "runtime",
]


@pytest.fixture
def base() -> Iterator[Path]:
    """A directory with a short name that any user may enter, unlike pytest's own."""
    base = Path(tempfile.mkdtemp(prefix="agentpods-run-"))
    base.chmod(0o755)
    yield base
    shutil.rmtree(base, ignore_errors=True)


@pytest.fixture
def make_run(base: Path) -> Iterator[MakeRun]:
    """`make_run()` prepares a run with a fresh home, not started yet; all runs end with the test."""
    runs: list[Run] = []

    def make(home: Path | None = None, *, user: str | None = None, **environment: str) -> Run:
        runs.append(Run(home or base / f"home-{len(runs)}", user=user, **environment))
        return runs[-1]

    yield make
    for run in runs:
        run.end()
