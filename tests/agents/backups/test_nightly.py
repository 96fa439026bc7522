"""Automatic backups: each night, before a pod is replaced, and before an agent is deleted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from accounts.models import User
from agents.backups import expiry, nightly, removing, safeguard, taking
from agents.backups.models import Backup, Kind, Stage
from agents.cause import Cause
from agents.models import Agent, Reason, Repository, Status
from agents.running import lifecycle
from agents.runtimes.base import Phase
from tests.agents.backups.conftest import Steps
from tests.agents.conftest import GatewayOf, MakeAgent, event_types, settle
from tests.doubles.bridge import BridgeDouble
from tests.doubles.runtime import ScriptedRuntime


def make_due(agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(backup_due_at=timezone.now() - timedelta(minutes=1))


def kinds(agent: Agent) -> list[str]:
    return list(
        Backup.objects.filter(agent=agent, stage=Stage.DONE).order_by("asked_at").values_list("kind", flat=True)
    )


def test_the_moments_are_spread_over_the_night_and_stay_the_same() -> None:
    noon = datetime(2026, 11, 24, 12, tzinfo=UTC)
    moments = {nightly.next_night(f"agt_{number}", after=noon) for number in range(200)}
    assert len(moments) > 190
    assert {moment.hour for moment in moments} == {1, 2, 3, 4, 5}
    first = nightly.next_night("agt_1", after=noon)
    assert nightly.next_night("agt_1", after=first) == first + timedelta(days=1)


def test_a_running_agent_is_backed_up_each_night(pod: Agent, steps: Steps) -> None:
    assert pod.backup_due_at is not None
    make_due(pod)
    assert nightly.ask_due() == 1
    assert nightly.ask_due() == 0
    steps()
    assert kinds(pod) == ["nightly"]
    pod.refresh_from_db()
    assert pod.last_backup_at
    assert pod.backup_due_at > timezone.now()


def test_an_account_whose_pods_never_end_theirs_has_two_places_and_no_more(
    pod: Agent, steps: Steps, make_agent: MakeAgent, stranger: User
) -> None:
    def endless(agent: Agent) -> None:
        later = timezone.now() + timedelta(days=1)
        Backup.objects.filter(pk=taking.ask(agent, kind=Kind.NIGHTLY, actor="x").pk).update(
            stage=Stage.RUNNING, taken_at=timezone.now(), look_at=later
        )

    for _ in range(2):
        endless(make_agent())
    make_due(pod)
    nightly.ask_due()
    steps()
    assert kinds(pod) == [], "it waits for one of its own account"
    Agent.objects.exclude(pk=pod.pk).update(user=stranger)
    steps()
    assert kinds(pod) == ["nightly"], "another account's take nothing of its places"


def test_accounts_whose_pods_never_end_theirs_hold_up_nobody_for_longer_than_a_place_is_had(
    pod: Agent, bridge: BridgeDouble, steps: Steps, make_agent: MakeAgent
) -> None:
    bridge.backup = {"phase": "running", "percent": 5}
    begun = timezone.now()
    accounts = [User.objects.create_user(f"{number}@example.com") for number in range(4)]
    for account in accounts * 2:
        endless = taking.ask(make_agent(account), kind=Kind.NIGHTLY, actor="x")
        later = begun + timedelta(days=1)
        Backup.objects.filter(pk=endless.pk).update(stage=Stage.RUNNING, taken_at=begun, look_at=later)
    make_due(pod)
    nightly.ask_due()
    steps()
    waits = Backup.objects.get(agent=pod)
    assert waits.stage == Stage.WANTED
    with time_machine.travel(begun + taking.PLACE + timedelta(seconds=1), tick=True):
        steps()
        bridge.backup = {"phase": "done", "snapshot": "a" * 64, "size": 1, "note": ""}
        steps()
    assert kinds(pod) == ["nightly"]
    left = Backup.objects.filter(stage=Stage.RUNNING).count()
    assert left == taking.AT_ONCE, "theirs go on, and may end"


def test_a_free_place_is_for_the_backup_that_waits_longest(
    pod: Agent, steps: Steps, make_agent: MakeAgent, stranger: User
) -> None:
    begun = timezone.now()
    for number in range(taking.AT_ONCE - 1):
        account = User.objects.create_user(f"{number}@example.com")
        running = taking.ask(make_agent(account), kind=Kind.NIGHTLY, actor="x")
        later = begun + timedelta(days=1)
        Backup.objects.filter(pk=running.pk).update(stage=Stage.RUNNING, taken_at=begun, look_at=later)
    first = taking.ask(make_agent(stranger), kind=Kind.NIGHTLY, actor="x")
    Backup.objects.filter(pk=first.pk).update(look_at=begun + timedelta(days=1))  # another worker is at work
    make_due(pod)
    nightly.ask_due()
    steps()
    assert Backup.objects.get(agent=pod).stage == Stage.WANTED
    Backup.objects.filter(pk=first.pk).update(stage=Stage.FAILED)
    steps()
    assert kinds(pod) == ["nightly"]


def test_a_pod_that_answers_slowly_is_asked_rarely(pod: Agent, bridge: BridgeDouble, steps: Steps) -> None:
    bridge.backup, bridge.backup_seconds = {"phase": "running", "percent": 5}, 1.0
    make_due(pod)
    nightly.ask_due()
    steps()
    waits = Backup.objects.get(agent=pod)
    assert waits.look_at
    assert waits.look_at - timezone.now() > timedelta(seconds=taking.REST - 1)


def test_a_stopped_agent_waits_for_its_next_night(pod: Agent) -> None:
    settle(lifecycle.pause(pod, reason=Reason.SUSPENDED, actor="operator:x"))
    make_due(pod)
    nightly.ask_due()
    assert not Backup.objects.filter(agent=pod).exists()


def test_one_that_fails_is_tried_again_later_and_later(pod: Agent, bridge: BridgeDouble, steps: Steps) -> None:
    bridge.backup = {"phase": "failed", "message": "no room"}
    waits = []
    for failures in (1, 2, 3):
        make_due(pod)
        nightly.ask_due()
        steps()
        pod.refresh_from_db()
        assert pod.backup_due_at
        waits.append(pod.backup_due_at - timezone.now())
        assert (pod.repository.failures, pod.repository.failure) == (failures, "no room")
        pod = Agent.objects.get(pk=pod.pk)
    assert waits[0] < waits[1] < waits[2] < nightly.LONGEST_RETRY
    bridge.backup = {"phase": "done", "snapshot": "a" * 64, "size": 1, "note": ""}
    make_due(pod)
    nightly.ask_due()
    steps()
    assert Repository.objects.get(pk=pod.pk).failures == 0


def test_a_rebuild_waits_for_a_backup_by_the_old_pod(pod: Agent, runtime: ScriptedRuntime, steps: Steps) -> None:
    old = pod.namespace
    agent = settle(lifecycle.rebuild(pod, actor="user:x"))
    assert old in runtime.pods
    assert agent.namespace not in runtime.pods
    steps()
    settle(agent)
    assert kinds(agent) == ["rebuild"]
    assert old not in runtime.pods
    assert agent.namespace in runtime.pods


def test_a_backup_that_fails_delays_neither_rebuild_nor_deletion_for_ever(
    pod: Agent, bridge: BridgeDouble, steps: Steps
) -> None:
    bridge.backup = {"phase": "failed", "message": "no room"}
    agent = settle(lifecycle.delete(pod, actor="user:x"))
    assert agent.status == Status.RUNNING
    steps()
    assert settle(agent).status == Status.DELETED
    assert agent.transitions.filter(note="no backup: no room").exists()


def test_a_dead_pod_is_asked_for_nothing(pod: Agent, runtime: ScriptedRuntime) -> None:
    runtime.set(pod.namespace, gateway_alive=False, phase=Phase.UNHEALTHY)
    assert settle(lifecycle.delete(pod, actor="user:x")).status == Status.DELETED


def test_the_final_one_outlives_the_agent_for_its_days(pod: Agent, steps: Steps, settings: Any, tmp_path: Path) -> None:
    kept = tmp_path / "store" / pod.pk / "data" / "ab"
    kept.mkdir(parents=True)
    (kept / ("ab" * 32)).write_bytes(b"a pack")
    agent = settle(lifecycle.delete(pod, actor="user:x"))
    steps()
    assert settle(agent).status == Status.DELETED
    assert kinds(agent) == ["final"]
    now = timezone.now()
    assert expiry.take_out_due(now + timedelta(days=6)) == 0
    assert expiry.take_out_due(now + timedelta(days=8)) == 1
    assert not Backup.objects.filter(agent=agent).exists()
    assert not list(kept.iterdir())


def test_with_no_final_days_there_is_no_final_one(pod: Agent, settings: Any) -> None:
    settings.FINAL_BACKUP_DAYS = 0
    assert settle(lifecycle.delete(pod, actor="user:x")).status == Status.DELETED
    assert expiry.take_out_due() == 1


def test_a_rebuild_of_lost_data_restores_the_newest_backup_and_says_so(
    pod: Agent, runtime: ScriptedRuntime, steps: Steps
) -> None:
    make_due(pod)
    nightly.ask_due()
    steps()
    runtime.set(pod.namespace, phase=Phase.FAILED, cause=Cause.DATA_LOST, message="empty")
    pod.refresh_from_db()
    lifecycle.fail(pod, generation=1, cause=Cause.DATA_LOST, message="empty", evidence=[], now=timezone.now())
    agent = lifecycle.rebuild(pod, actor="user:x")
    backup = Backup.objects.get(agent=agent, kind=Kind.NIGHTLY)
    assert agent.restores == backup.pk
    assert agent.transitions.filter(note=f"its data is restored from backup {backup.name}").exists()


def test_a_rebuild_of_lost_data_without_a_backup_begins_anew(pod: Agent) -> None:
    lifecycle.fail(pod, generation=1, cause=Cause.DATA_LOST, message="empty", evidence=[], now=timezone.now())
    agent = lifecycle.rebuild(pod, actor="user:x")
    assert (agent.restores, agent.data_expected) == ("", False)


def test_the_whole_backup_is_taken_before_a_newer_one_of_broken_databases(
    pod: Agent, bridge: BridgeDouble, steps: Steps
) -> None:
    for broken in (0, 2):
        bridge.backup = {"phase": "done", "snapshot": "a" * 64, "size": 1, "note": "", "broken": broken}
        make_due(pod)
        nightly.ask_due()
        steps()
    whole, broken_one = Backup.objects.filter(agent=pod).order_by("taken_at")
    assert (whole.broken, broken_one.broken) == (0, 2)
    lifecycle.fail(pod, generation=1, cause=Cause.DATA_DAMAGED, message="broken", evidence=[], now=timezone.now())
    assert lifecycle.rebuild(pod, actor="user:x").restores == whole.pk


@pytest.mark.sampled
@pytest.mark.parametrize("cause", [Cause.DATA_LOST, Cause.DATA_DAMAGED])
def test_a_rebuild_that_finds_the_data_gone_or_damaged_restores_by_itself_and_says_so(
    pod: Agent, runtime: ScriptedRuntime, steps: Steps, gateway_of: GatewayOf, cause: str
) -> None:
    runtime.comes_up_as = Phase.STARTING
    agent = lifecycle.rebuild(pod, actor="user:x")
    settle(agent)
    steps()  # the old pod makes a backup
    agent = settle(agent, rounds=3)
    assert (agent.generation, agent.restores) == (2, "")
    runtime.comes_up_as = Phase.RESTORING
    runtime.set(agent.namespace, phase=Phase.FAILED, cause=cause, message="broken")
    agent = settle(agent, rounds=3)
    backup = Backup.objects.get(agent=agent)
    assert (agent.status, agent.generation, agent.restores) == (Status.PROVISIONING, 3, backup.pk)
    assert agent.transitions.filter(note=f"{cause}: its data is restored from backup {backup.name}").exists()
    gateway_of(agent)
    settle(agent, rounds=2)
    runtime.set(agent.namespace, phase=Phase.READY)
    assert settle(agent).status == Status.RUNNING
    assert event_types(agent) == ["agent.running", "agent.running"]


def test_one_without_a_backup_fails_and_its_next_rebuild_goes_on_with_what_is_there(
    running: Agent, runtime: ScriptedRuntime
) -> None:
    runtime.comes_up_as = Phase.STARTING
    agent = settle(lifecycle.rebuild(running, actor="user:x"), rounds=3)
    runtime.set(agent.namespace, phase=Phase.FAILED, cause=Cause.DATA_DAMAGED, message="broken")
    agent = settle(agent, rounds=3)
    assert (agent.status, agent.cause, agent.generation) == (Status.FAILED, Cause.DATA_DAMAGED, 2)
    agent = lifecycle.rebuild(agent, actor="user:x")
    assert (agent.restores, agent.data_expected) == ("", False)


def test_a_stop_waits_for_a_backup_so_that_a_stopped_agent_has_a_fresh_one(pod: Agent, steps: Steps) -> None:
    agent = settle(lifecycle.pause(pod, reason=Reason.OWNER, actor="user:x"))
    assert agent.status == Status.RUNNING
    steps()
    assert settle(agent).status == Status.STOPPED
    assert kinds(agent) == ["stop"]
    lifecycle.resume(agent, actor="user:x")
    settle(agent)
    lifecycle.pause(agent, reason=Reason.OWNER, actor="user:x")
    assert settle(agent).status == Status.STOPPED  # the backup of a minute ago is recent enough
    assert kinds(agent) == ["stop"]


def test_a_stop_waits_for_no_backup_that_takes_long_nor_for_a_suspended_account(
    pod: Agent, bridge: BridgeDouble, steps: Steps
) -> None:
    bridge.backup = {"phase": "running", "percent": 5}
    agent = settle(lifecycle.pause(pod, reason=Reason.OWNER, actor="user:x"))
    steps()
    assert settle(agent).status == Status.RUNNING
    with time_machine.travel(timezone.now() + safeguard.STOP_WAIT + timedelta(seconds=1), tick=True):
        assert settle(agent).status == Status.STOPPED
    Backup.objects.filter(agent=agent).update(stage=Stage.FAILED, asked_at=timezone.now() - timedelta(days=1))
    lifecycle.resume(agent, actor="user:x")
    settle(agent)
    lifecycle.pause(agent, reason=Reason.SUSPENDED, actor="operator:x")
    assert settle(agent).status == Status.STOPPED


def test_what_has_no_data_to_go_back_to_is_restored_again_by_the_next_rebuild_as_long_as_the_backup_is_there(
    pod: Agent, steps: Steps
) -> None:
    make_due(pod)
    nightly.ask_due()
    steps()
    backup = Backup.objects.get(agent=pod)
    pod.refresh_from_db()
    lifecycle.fail(pod, generation=1, cause=Cause.DATA_LOST, message="empty", evidence=[], now=timezone.now())
    for generation in (2, 3):
        agent = lifecycle.rebuild(pod, actor="user:x")
        assert (agent.restores, agent.generation) == (backup.pk, generation)
        lifecycle.fail(agent, generation=generation, cause="RESTORE", message="x", evidence=[], now=timezone.now())
    removing.delete(backup, actor="user:x")  # the owner deletes the backup
    assert lifecycle.rebuild(pod, actor="user:x").restores == ""
