"""An agent with a pod that makes backups, on an installation with a store."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from agents.backups import taking
from agents.models import Agent, Repository
from agents.pod.bridge import backup
from tests.agents.backups.killing import endpoint, store  # noqa: F401 # fixtures
from tests.agents.backups.real import program, url  # noqa: F401 # fixtures
from tests.agents.conftest import GatewayOf

Steps = Callable[[], None]


@pytest.fixture
def pod(running: Agent, gateway_of: GatewayOf, settings: Any, tmp_path: Any) -> Agent:
    settings.BACKUP_STORE, settings.BACKUP_URL = str(tmp_path / "store"), "http://127.0.0.1:9"
    Repository.objects.create(agent=running, password="of the repository", made_at=timezone.now())
    gateway_of(running)
    return running


@pytest.fixture
def steps() -> Steps:
    """`steps()`: take the next step of each backup that is being made."""

    def take() -> None:
        taking.take_due(timezone.now() + taking.LEASE)

    return take


@pytest.fixture
def source(tmp_path: Path, program: Path) -> backup.BackupSource:  # noqa: F811 # a fixture
    data = tmp_path / "data"
    for name, text in {"workspace/a": "text", "tmp/x": "left out", "engine/cache/x": "left out"}.items():
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text(text)
    (data / "workspace" / "pack").write_bytes(bytes(range(256)) * 100_000)
    with closing(sqlite3.connect(data / "engine" / "state[1].db")) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t (x)")
        connection.commit()
    learned = {"skills": ["tea"], "memories": [], "sessions": 1, "is_cut": False}
    return backup.BackupSource(
        data=data,
        left_out=("engine/cache",),
        program=program,
        cache=tmp_path / "cache",
        remembered=lambda: learned,
        marks={},
    )
