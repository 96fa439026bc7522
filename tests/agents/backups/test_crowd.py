"""Limits under load: the restic processes of one worker process, and the backups that are made at a time."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from agents.backups import repositories, taking
from agents.backups.models import Backup, Kind, Stage
from agents.backups.repositories import Crowded
from agents.models import Agent, Repository
from tests.agents.conftest import MakeAgent, settle

pytestmark = pytest.mark.django_db(transaction=True)

# A restic that prints its version at once and needs half a second for other work. `running` has a file for each one.
SLOW = """#!/bin/sh
case "$*" in *version*) echo "restic 0.18.0 compiled with go"; exit 0;; esac
here="{running}/$$"
: > "$here"
ls "{running}" | wc -l >> "{counts}"
sleep 0.5
rm "$here"
"""


@pytest.fixture
def counts(settings: Any, tmp_path: Path) -> Callable[[], list[int]]:
    """For each start of restic: how many were running at that moment."""
    (tmp_path / "running").mkdir()
    program, told = tmp_path / "restic", tmp_path / "counts"
    program.write_text(SLOW.format(running=tmp_path / "running", counts=told))
    program.chmod(0o755)
    settings.RESTIC, settings.BACKUP_STORE, settings.BACKUP_URL = (
        str(program),
        str(tmp_path / "s"),
        "http://127.0.0.1:9",
    )
    return lambda: [int(line) for line in told.read_text().split()]


def at_once(*calls: Callable[[], object]) -> None:
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], object]) -> None:
        barrier.wait()
        try:
            call()
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_process_has_two_restics_at_a_time(running: Agent, counts: Callable[[], list[int]]) -> None:
    repository = repositories.row_of(running)
    at_once(*[lambda: repositories.call(repository, ["cat", "config"]) for _ in range(6)])
    assert len(counts()) == 6
    assert max(counts()) == 2


def test_who_finds_no_place_is_told_so_and_its_backup_goes_on_later(
    running: Agent, counts: Callable[[], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repositories, "PLACE_SECONDS", 0.0)
    backup = taking.ask(running, kind=Kind.ASKED, actor="test")
    with contextlib.ExitStack() as others:
        for _ in range(repositories.AT_ONCE):
            others.enter_context(repositories.place())
        with pytest.raises(Crowded):
            repositories.of(running)
        taking.step(backup.pk)
        backup.refresh_from_db()
        assert (backup.stage, backup.misses, backup.note) == (Stage.RUNNING, 0, "")
        assert not Repository.objects.get().made_at
    taking.step(backup.pk, now=timezone.now() + taking.LEASE)
    assert Repository.objects.get().made_at


def test_an_account_has_its_two_places_and_no_more_when_many_of_its_backups_begin_at_once(
    make_agent: MakeAgent, counts: Callable[[], list[int]]
) -> None:
    agents = [settle(make_agent()) for _ in range(3)]
    asked = [taking.ask(agent, kind=Kind.ASKED, actor="test").pk for agent in agents]
    at_once(*[lambda pk=pk: taking.step(pk) for pk in asked])
    assert Backup.objects.filter(stage=Stage.RUNNING).count() == taking.AT_ONCE_EACH
    assert Backup.objects.filter(stage=Stage.WANTED).count() == 1
