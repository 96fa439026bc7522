"""Failing or missing backups are shown: to the owner in `explain`, to everybody on the status page."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from agents.backups import health, taking
from agents.backups.models import Kind
from agents.models import Agent
from tests.agents.backups.conftest import Steps
from tests.doubles.bridge import BridgeDouble


def test_a_failed_backup_is_in_explain_until_one_succeeds(
    client: APIClient, pod: Agent, bridge: BridgeDouble, steps: Steps
) -> None:
    def evidence() -> str:
        found = client.get(f"/agents/{pod.pk}/explain").json()["explanation"]
        return " ".join([found["cause"], found["message"], *found["evidence"]])

    assert "BACKUP_FAILED" not in evidence()
    bridge.backup = {"phase": "failed", "message": "no room"}
    taking.ask(pod, kind=Kind.ASKED, actor="user:x")
    steps()
    assert "its last backup failed (no room)" in evidence()
    bridge.backup = {"phase": "done", "snapshot": "a" * 64, "size": 1, "note": ""}
    taking.ask(pod, kind=Kind.ASKED, actor="user:x")
    steps()
    assert "BACKUP_FAILED" not in evidence()


@pytest.mark.parametrize(
    ("known", "well"),
    [
        ({}, True),
        ({"failing": 9, "repositories": 100}, True),  # all nine may belong to one account
        ({"failing": 10, "repositories": 100}, False),
        ({"failing": 1, "repositories": 1}, False),
        ({"late": timedelta(hours=1)}, True),
        ({"late": timedelta(hours=3)}, False),
        ({"late": timedelta(hours=3), "are_made": False}, True),
    ],
)
def test_the_platform_is_well_while_backups_come_and_few_fail(known: dict[str, Any], well: bool) -> None:
    now = timezone.now()
    late = known.pop("late", None)
    told = {"are_made": True, "repositories": 100, "failing": 0, "oldest_due": now - late if late else None, **known}
    assert health.BackupHealth(**told).are_well(now) == well
