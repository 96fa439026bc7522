"""A damaged repository that was moved out of the store is begun anew."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agents.backups.models import Backup, Repository
from agents.models import Agent, Transition
from agents.pod.bridge import backup
from tests.agents.backups.test_drills import taken

COMMAND = "renew_repository"


@pytest.mark.sampled
def test_a_repository_with_backups_is_left_and_one_that_was_moved_is_begun_anew(
    running: Agent, source: backup.BackupSource, url: str, settings: Any, tmp_path: Any
) -> None:
    settings.BACKUP_STORE, settings.BACKUP_URL = str(tmp_path / "store"), url
    taken(running, source, url, "1")
    with pytest.raises(CommandError, match=f"the repository has backups: move {running.pk} out of the store first"):
        call_command(COMMAND, running.pk)
    assert Backup.objects.there().count() == 1
    (tmp_path / "store" / running.pk).rename(tmp_path / "kept")
    for lost in (1, 0):  # a second run finds nothing left to do
        call_command(COMMAND, running.pk, stdout=(out := io.StringIO()))
        assert out.getvalue() == f"an empty repository; backups that are lost: {lost}\n"
    assert not Backup.objects.there().exists()
    assert Transition.objects.filter(agent=running, note="backup 1 deleted").count() == 1
    taken(running, source, url, "2")
    with pytest.raises(CommandError, match="the repository has backups"):
        call_command(COMMAND, running.pk)


def test_an_agent_without_a_repository_and_an_installation_without_a_store_are_refused(
    running: Agent, settings: Any
) -> None:
    with pytest.raises(CommandError, match="no such repository: agt_nothing"):
        call_command(COMMAND, "agt_nothing")
    settings.BACKUP_STORE = ""
    Repository.objects.create(agent=running, password="of the repository")
    with pytest.raises(CommandError, match="BACKUP_STORE names no store"):
        call_command(COMMAND, running.pk)
