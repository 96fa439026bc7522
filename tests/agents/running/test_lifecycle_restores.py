"""Which data a rebuild begins with: that of a backup, that of a cluster which was left, or what is on the disk."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from agents.backups.models import Kind, Stage
from agents.models import Agent, Backup, Placement, Reason, Status, Transition
from agents.running import lifecycle
from tests.agents.clusters.observing import make_cluster
from tests.agents.conftest import MakeAgent

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
LATER = NOON + timedelta(hours=1)


@pytest.fixture(autouse=True)
def frozen() -> Iterator[None]:
    with time_machine.travel(NOON, tick=False):
        yield


@pytest.fixture
def up(frozen: None, make_agent: MakeAgent, settings: Any) -> Agent:
    """A running agent, on an installation that keeps backups."""
    settings.BACKUP_STORE = "kept"
    return lifecycle.came_up(make_agent(), generation=1, public_url="https://a.example.com", now=NOON)


def backup(agent: Agent, name: str, *, minute: int, broken: int = 0) -> Backup:
    made = {"asked_at": NOON, "taken_at": NOON + minute * MINUTE, "stage": Stage.DONE, "kind": Kind.NIGHTLY}
    return Backup.objects.create(
        agent=agent, name=name, namespace=agent.namespace, generation=1, actor="nightly", broken=broken, **made
    )


def failed(agent: Agent, cause: str) -> Agent:
    return lifecycle.fail(agent, generation=agent.generation, cause=cause, message="", evidence=[], now=NOON)


def saved(agent: Agent, **changes: Any) -> Agent:
    Agent.objects.filter(pk=agent.pk).update(**changes or {"name": agent.name})
    return Agent.objects.get(pk=agent.pk)


def begins_with(agent: Agent) -> tuple[str, bool]:
    """The backup that the pod must restore, and whether it must find data on its disk."""
    row = saved(agent)
    return row.restores, row.data_expected


def last_note(agent: Agent) -> tuple[str, str, str, datetime]:
    last = Transition.objects.filter(agent=agent).latest("id")
    return last.note, last.reason, last.actor, last.at


@pytest.mark.parametrize("cause", ["DATA_LOST", "DATA_DAMAGED"])
def test_lost_data_comes_from_the_newest_whole_backup_and_the_timeline_says_so(up: Agent, cause: str) -> None:
    backup(up, "older", minute=1)
    whole = backup(up, "whole", minute=2)
    backup(up, "damaged", minute=3, broken=1)
    lifecycle.rebuild(failed(up, cause), actor="user:u", why="it is empty")
    assert begins_with(up) == (whole.pk, False)
    assert last_note(up) == ("its data is restored from backup whole: it is empty", "rebuild", "user:u", NOON)


def test_where_no_backup_is_whole_the_newest_one_is_taken(up: Agent) -> None:
    backup(up, "older", minute=1, broken=1)
    newest = backup(up, "newest", minute=2, broken=2)
    lifecycle.rebuild(failed(up, "DATA_LOST"), actor="user:u")
    assert begins_with(up) == (newest.pk, False)


def test_backups_of_other_agents_and_of_a_service_without_a_store_are_not_taken(
    up: Agent, make_agent: MakeAgent, settings: Any
) -> None:
    backup(make_agent(), "theirs", minute=1)
    lifecycle.rebuild(failed(up, "DATA_LOST"), actor="user:u")
    assert begins_with(up) == ("", False)
    backup(up, "mine", minute=1)
    settings.BACKUP_STORE = ""
    lifecycle.rebuild(failed(saved(up), "DATA_LOST"), actor="user:u")
    assert begins_with(up) == ("", False)


@pytest.mark.parametrize("cause", ["OOM", "RESTORE"])
def test_a_failure_that_leaves_the_data_restores_nothing_and_expects_the_data(up: Agent, cause: str) -> None:
    backup(up, "one", minute=1)
    lifecycle.rebuild(failed(up, cause), actor="user:u")
    assert begins_with(up) == ("", True)


def test_the_backup_that_somebody_asks_for_comes_before_the_newest(up: Agent) -> None:
    older = backup(up, "older", minute=1)
    backup(up, "newer", minute=2)
    lifecycle.rebuild(
        failed(up, "DATA_LOST"), actor="user:u", reason=Reason.RESTORE, why="from backup older", restores=older.pk
    )
    assert begins_with(up) == (older.pk, False)
    assert last_note(up) == ("from backup older", "restore", "user:u", NOON)
    assert saved(up).operation == Reason.RESTORE


def test_an_agent_without_data_of_its_own_is_restored_again_as_long_as_the_backup_is_there(up: Agent) -> None:
    wanted = backup(up, "wanted", minute=1)
    agent = failed(saved(up, restores=wanted.pk, data_expected=False), "RESTORE")
    agent = failed(lifecycle.rebuild(agent, actor="user:u"), "RESTORE")
    assert begins_with(agent) == (wanted.pk, False)
    Backup.objects.update(stage=Stage.REMOVED)
    lifecycle.rebuild(agent, actor="user:u")
    assert begins_with(agent) == ("", False)


def test_an_agent_with_data_goes_on_with_it_after_a_restore_that_failed(up: Agent) -> None:
    wanted = backup(up, "wanted", minute=1)
    lifecycle.rebuild(failed(saved(up, restores=wanted.pk), "RESTORE"), actor="user:u")
    assert begins_with(up) == ("", True)


def test_a_rebuild_takes_the_personas_soul_of_today_or_keeps_that_of_one_which_is_gone(up: Agent) -> None:
    soul = saved(up).soul
    before = saved(up, soul="an old soul").spec_revision
    lifecycle.rebuild(up, actor="user:u")
    assert (saved(up).soul, saved(up).spec_revision) == (soul, before + 1)
    agent = saved(up, status=Status.RUNNING, persona_id="gone", soul="its own soul")
    lifecycle.rebuild(agent, actor="user:u")
    assert saved(up).soul == "its own soul"


# A rebuild that finds the data gone.


def test_a_rebuild_that_finds_no_data_begins_again_with_the_newest_backup(up: Agent) -> None:
    newest = backup(up, "newest", minute=1)
    lifecycle.rebuild(up, actor="user:u")
    saved(up, attempts=5, reconcile_at=None)
    assert lifecycle.restore_instead(up, generation=2, found="DATA_LOST", now=LATER) is True
    agent = saved(up)
    assert (agent.generation, agent.restores, agent.deadline_at) == (3, newest.pk, LATER + 10 * MINUTE)
    assert (agent.operation, agent.reconcile_at, agent.attempts) == (Reason.REBUILD, LATER, 0)
    note = "DATA_LOST: its data is restored from backup newest"
    assert last_note(up) == (note, "restore", "reconciler", LATER)


@pytest.mark.parametrize(
    "otherwise",
    [
        {"generation": 3},
        {"desired": "stopped"},
        {"operation": "restore"},
        {"operation": "recovery"},
        {"status": "running"},
        {"status": "failed"},
        {"restores": "bkp_1"},
    ],
)
def test_only_a_rebuild_under_way_that_restores_nothing_yet_restores_by_itself(
    up: Agent, otherwise: dict[str, Any]
) -> None:
    backup(up, "newest", minute=1)
    lifecycle.rebuild(up, actor="user:u")
    before = saved(up, **otherwise)
    assert lifecycle.restore_instead(up, generation=2, found="DATA_LOST", now=LATER) is False
    assert (saved(up).generation, saved(up).restores) == (before.generation, before.restores)


def test_a_rebuild_that_finds_no_data_fails_where_there_is_no_backup(up: Agent) -> None:
    lifecycle.rebuild(up, actor="user:u")
    assert lifecycle.restore_instead(up, generation=2, found="DATA_LOST", now=LATER) is False
    assert (saved(up).generation, begins_with(up)) == (2, ("", True))


# Moves between clusters.


def moving(agent: Agent, stage: str) -> Placement:
    old, new = make_cluster("old"), make_cluster("new")
    return Placement.objects.create(agent_id=agent.pk, cluster=new, other=old, move=stage)


def test_a_rebuild_after_a_move_that_failed_begins_with_the_data_of_the_old_cluster(up: Agent) -> None:
    moving(up, "begun")
    backup(up, "newest", minute=1)
    agent = failed(saved(up, restores="bkp_1", data_expected=False), "DATA_LOST")
    lifecycle.rebuild(agent, actor="user:u")
    assert begins_with(up) == ("", True)
    assert Placement.objects.get().cluster.name == "old"


def test_a_move_is_over_when_the_pod_has_come_up(up: Agent) -> None:
    moving(up, "begun")
    lifecycle.came_up(failed(up, "OOM"), generation=1, public_url="https://a.example.com", now=LATER)
    assert Placement.objects.get().move == "over"


# Transactions.


@pytest.mark.django_db(transaction=True)
def test_each_step_is_a_transaction_of_its_own(up: Agent) -> None:
    """The steps lock the agent's row, which PostgreSQL does only inside of a transaction."""
    backup(up, "newest", minute=1)
    lifecycle.recover(up, generation=1, note="gone", now=NOON)
    agent = failed(saved(up), "OOM")
    lifecycle.rebuild(agent, actor="user:u")
    assert lifecycle.restore_instead(agent, generation=2 + 1, found="DATA_LOST", now=NOON)
    agent = saved(up)
    lifecycle.came_up(agent, generation=agent.generation, public_url="https://a.example.com", now=NOON)
    lifecycle.put_back(agent, ["Secret/a was gone"], now=NOON)
    agent = lifecycle.move(agent, actor="operator:o", why="x")
    lifecycle.came_up(agent, generation=agent.generation, public_url="https://a.example.com", now=NOON)
    lifecycle.pause(agent, reason=Reason.OWNER, actor="user:u")
    lifecycle.came_down(agent, now=NOON)
    lifecycle.resume(agent, actor="user:u")
    lifecycle.delete(agent, actor="user:u")
    assert lifecycle.is_gone(agent, now=NOON).status == Status.DELETED
