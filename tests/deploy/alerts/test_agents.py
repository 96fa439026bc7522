"""Agents, backups and money are really broken: the alert fires, its runbook is followed, and the alert ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from agents.backups import nightly
from agents.backups.models import Backup
from agents.models import Agent, Cluster, Repository
from agents.pod.bridge import backup
from agents.runtimes.base import Phase, RuntimeFailure
from billing import invariants
from tests.agents.backups.conftest import Steps
from tests.agents.backups.orders import order_of
from tests.agents.backups.test_drills import drilled, taken
from tests.agents.clusters.observing import cluster_of, observing
from tests.agents.conftest import GatewayOf, MakeAgent, settle
from tests.deploy.alerts.conftest import WatchedPlatform
from tests.deploy.alerts.judging import managed, page, says
from tests.doubles.bridge import BridgeDouble
from tests.doubles.kube_api import KubeApi
from tests.doubles.runtime import ScriptedRuntime
from tests.operating import act

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

AGENTS = "/admin/agents/agent/"
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def test_turns_failing(
    watched: WatchedPlatform, client: APIClient, running: Agent, gateway_of: GatewayOf, console: Client
) -> None:
    def talk(times: int = 3) -> int:
        turn = {"message": "hi"}
        return [client.post(f"/agents/{running.pk}/chat", turn, format="json").status_code for _ in range(times)][-1]

    gateway = gateway_of(running)
    gateway.stop()
    assert talk() == 503
    assert "TurnsFailing" in watched.fires()
    says("TurnsFailing", "`gateway` (the pod is not reached)", "the talk test of one of them")
    assert "gateway" in act(console, AGENTS, "talk_test_agents", running)
    gateway_of(running)
    watched.look()
    assert talk() == 200
    assert "TurnsFailing" not in watched.fires()


def test_unpaid_but_running(watched: WatchedPlatform, console: Client, running: Agent, capsys: Any) -> None:
    Agent.objects.filter(pk=running.pk).update(entitled_until=timezone.now() - HOUR)
    assert "UnpaidButRunning" in watched.fires()
    says("UnpaidButRunning", "`manage.py check_invariants` names the agents", "*Pause* stops the agent")
    with pytest.raises(CommandError):
        call_command("check_invariants")
    assert f"{running.pk} runs, but its free or paid time ended" in capsys.readouterr().out
    act(console, AGENTS, "pause_agents", running)
    assert settle(running).status == "stopped"
    assert "UnpaidButRunning" not in watched.fires()


def test_paid_but_stopped(watched: WatchedPlatform, console: Client, running: Agent, capsys: Any) -> None:
    held = {"status": "stopped", "desired": "stopped", "operation": "payment", "paid": True, "term_due_at": None}
    Agent.objects.filter(pk=running.pk).update(**held, status_since=timezone.now() - HOUR)
    assert "PaidButStopped" in watched.fires()
    says("PaidButStopped", "`manage.py check_invariants` names the agents", "*Resume* in the admin starts the agent")
    with pytest.raises(CommandError):
        call_command("check_invariants")
    assert f"{running.pk} is paid for, but is still stopped as unpaid" in capsys.readouterr().out
    act(console, AGENTS, "resume_agents", running)
    assert settle(running).status == "running"
    assert "PaidButStopped" not in watched.fires()


def test_ledger_findings(watched: WatchedPlatform, running: Agent, capsys: Any) -> None:
    before = Agent.objects.filter(pk=running.pk).values("paid", "term_due_at").get()
    Agent.objects.filter(pk=running.pk).update(paid=True, term_due_at=None)
    assert invariants.report()
    assert "LedgerFindings" in watched.fires()
    says("LedgerFindings", "`manage.py check_invariants`: a sentence for each contradiction", "put it right")
    with pytest.raises(CommandError):
        call_command("check_invariants")
    assert f"{running.pk} has paid=True" in capsys.readouterr().out
    Agent.objects.filter(pk=running.pk).update(**before)
    watched.look()
    assert not invariants.report()
    assert "LedgerFindings" not in watched.fires()


def test_agents_failing(
    watched: WatchedPlatform, console: Client, make_agent: MakeAgent, runtime: ScriptedRuntime
) -> None:
    people = [User.objects.create_user(f"person{number}@example.com") for number in range(6)]
    runtime.comes_up_as = Phase.STARTING
    with_pod = [settle(make_agent(person), rounds=2) for person in people[:3]]
    for agent in with_pod:
        runtime.set(agent.namespace, phase=Phase.FAILED, cause="IMAGE_PULL", message="the registry refuses")
        assert settle(agent).status == "failed"
    runtime.trouble = RuntimeFailure("no node has room", cause="NO_CAPACITY", permanent=True)
    without = [settle(make_agent(person), rounds=2) for person in people[3:]]
    assert "AgentsFailing" in watched.fires()
    says("AgentsFailing", "`agentpods_agents_failed` by cause, and the list of failed agents in the admin")
    causes = ("IMAGE_PULL", "NO_CAPACITY")
    assert [page()[f'agentpods_agents_failed{{cause="{cause}"}}'] for cause in causes] == [3, 3]
    shown = console.get(f"{AGENTS}?status=failed").content.decode()
    assert all(agent.pk in shown for agent in (*with_pod, *without))
    says("AgentsFailing", "add nodes or a cluster", "the registry or its secret")
    runtime.trouble, runtime.comes_up_as = None, Phase.READY
    for agent in with_pod:
        runtime.set(agent.namespace, phase=Phase.READY, cause=None, message=None)
    says("AgentsFailing", "agents whose pod is still there run again by themselves", "*Rebuild* starts the others")
    assert [settle(agent).status for agent in with_pod] == ["running"] * 3
    assert [settle(agent).status for agent in without] == ["failed"] * 3
    for agent in without:
        act(console, AGENTS, "rebuild_agents", agent)
        assert settle(agent).status == "running"
    assert "AgentsFailing" not in watched.fires()


@pytest.fixture
def cluster_api(tmp_path: Path) -> Iterator[KubeApi]:
    with KubeApi(tmp_path / "cluster") as found:
        yield found


def test_clusters_silent(
    watched: WatchedPlatform, cluster_api: KubeApi, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.AGENT_RUNTIME = "kubernetes"
    cluster_api.allow("observer", [])  # somebody took its rights away
    row = cluster_of(cluster_api.kubeconfig("observer"))
    with observing() as turns:
        turns.until(lambda: any("forbidden" in str(vars(record).get("error")) for record in caplog.records))
        assert "ClustersSilent" in watched.fires()
        assert managed("ClustersSilent", "kubectl ") == "cluster one was never observed"
        says("ClustersSilent", "*Observer stale* in [What an alarm means]")
        Cluster.objects.filter(pk=row.pk).update(kubeconfig=cluster_api.kubeconfig("put right"))
        turns.until(lambda: Cluster.objects.get(pk=row.pk).observed_at)
        assert managed("ClustersSilent", "kubectl ") == ""
        assert "ClustersSilent" not in watched.fires()


def test_backups_late(
    watched: WatchedPlatform,
    console: Client,
    pod: Agent,
    bridge: BridgeDouble,
    source: backup.BackupSource,
    url: str,
    steps: Steps,
    tmp_path: Path,
) -> None:
    def back_up() -> None:
        """The double says of the backup what the bridge of a real pod would say."""
        try:
            found = asyncio.run(backup.take(source, order, backup.BackupProgress()))
        except backup.NoBackup as failure:
            bridge.backup = {"phase": "failed", "message": str(failure)}
        else:
            bridge.backup = {"phase": "done", "snapshot": found.snapshot, "size": found.size, "note": ""}
        assert nightly.ask_due() == 1
        steps()

    Repository.objects.filter(pk=pod.pk).update(made_at=None)
    order = order_of(pod, url)
    (tmp_path / "store").rename(tmp_path / "gone")
    Agent.objects.filter(pk=pod.pk).update(backup_due_at=timezone.now())
    back_up()
    assert "BackupsLate" in watched.fires()
    says(
        "BackupsLate", "*Repositories* of the admin: the words of the failure", "Backups are tried again by themselves"
    )
    assert "repository does not exist" in str(bridge.backup["message"])
    assert "repository does not exist" in console.get("/admin/agents/repository/").content.decode()
    (tmp_path / "gone").rename(tmp_path / "store")
    again = Agent.objects.get(pk=pod.pk).backup_due_at
    assert again
    with time_machine.travel(again + timedelta(seconds=1)):
        back_up()
        assert bridge.backup["phase"] == "done"
        assert "BackupsLate" not in watched.fires()


def test_drills_failing(
    watched: WatchedPlatform,
    console: Client,
    running: Agent,
    source: backup.BackupSource,
    url: str,
    settings: Any,
    tmp_path: Path,
) -> None:
    settings.BACKUP_STORE, settings.BACKUP_URL = str(tmp_path / "store"), url
    settings.DRILL_DIRECTORY = tmp_path / "drill"
    store = tmp_path / "store" / running.pk
    taken(running, source, url, "1")
    assert not drilled(running).drill_failure
    for pack in (store / "data").rglob("*"):
        if pack.is_file():
            pack.chmod(0o600)
            pack.write_bytes(b"\0" * pack.stat().st_size)  # as if the disk lost its data
    failure = drilled(running).drill_failure
    assert "DrillsFailing" in watched.fires()
    says("DrillsFailing", "*Repositories* of the admin, by *drill failure*")
    assert failure in console.get("/admin/agents/repository/?drill=failed").content.decode()
    says("DrillsFailing", "a new backup in it is damaged too, because it builds on what is there")
    taken(running, source, url, "2")
    assert drilled(running).drill_failure
    assert "move" in managed("DrillsFailing", "manage.py renew", AGENT=running.pk)
    says("DrillsFailing", "Move the directory with the agent's id out of the store", "Then *Back up now*")
    store.rename(tmp_path / "kept")
    assert "backups that are lost: 2" in managed("DrillsFailing", "manage.py renew", AGENT=running.pk)
    assert not Backup.objects.there().exists()
    taken(running, source, url, "3")
    assert "drill" in act(console, "/admin/agents/repository/", "drill_repositories", running.repository)
    assert not drilled(running).drill_failure
    assert "DrillsFailing" not in watched.fires()
