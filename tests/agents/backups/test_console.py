"""Backups in the operators' console: make one now, restore one, undo the deletion of an agent."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from agents.backups import credentials, expiry
from agents.backups.models import Backup, Stage
from agents.models import Agent, Status
from agents.running import lifecycle, pods
from agents.runtimes.base import Phase
from tests.agents.backups.conftest import Steps
from tests.agents.conftest import GatewayOf, settle
from tests.doubles.bridge import BridgeDouble
from tests.doubles.runtime import ScriptedRuntime
from tests.operating import act

AGENTS, BACKUPS = "/admin/agents/agent/", "/admin/agents/backup/"


@pytest.fixture
def console(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("operator@example.com"))
    return client


def test_an_operator_backs_up_and_restores(console: Client, pod: Agent, steps: Steps) -> None:
    assert "Backup requested" in act(console, AGENTS, "back_up_agents", pod)
    steps()
    backup = Backup.objects.get(agent=pod, stage=Stage.DONE)
    assert backup.actor.startswith("operator:")
    act(console, BACKUPS, "restore_backup", backup, reason="asked for by mail")
    pod.refresh_from_db()
    assert (pod.status, pod.restores) == (Status.PROVISIONING, backup.pk)
    assert pod.transitions.filter(note=f"from backup {backup.name}: asked for by mail").exists()


def test_a_deletion_is_undone_by_a_new_agent_that_begins_with_the_final_backup(
    console: Client, pod: Agent, steps: Steps, runtime: ScriptedRuntime, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    Agent.objects.filter(pk=pod.pk).update(soul="Its soul of then.", channels=["web", "telegram"])
    settle(lifecycle.delete(pod, actor="user:x"))
    steps()
    old = settle(pod)
    assert old.status == Status.DELETED
    runtime.comes_up_as = Phase.RESTORING
    page = act(console, AGENTS, "undo_deletion", old, reason="deleted by mistake")
    new = Agent.objects.exclude(pk=old.pk).get()
    assert new.pk in page
    for name in ("user_id", "persona_id", "tier", "engine", "name", "soul"):
        assert getattr(new, name) == getattr(old, name), name
    assert (new.channels, new.paid, new.slug == old.slug) == (["web"], False, False)
    backup = Backup.objects.get(agent=old)
    told = f"created from backup {backup.name} of the deleted agent {old.pk}: deleted by mistake"
    assert new.transitions.filter(reason="create", note=told).exists()
    assert old.transitions.filter(note=f"brought back as {new.pk}: deleted by mistake").exists()

    settle(new, rounds=2)
    gateway_of(new)
    settle(new)
    order = bridge.restores[0]
    assert (order["id"], order["snapshot"]) == (pods.restore_of(new), backup.snapshot)
    old.repository.refresh_from_db()
    opened = credentials.read(old.repository.credential)
    assert opened
    assert (opened.agent_id, opened.may_add) == (old.pk, 0)
    late = timezone.now() + timedelta(days=30)
    assert expiry.take_out_due(late) == 0  # while it is needed, it stays
    runtime.set(new.namespace, phase=Phase.READY)
    assert settle(new).status == Status.RUNNING
    assert expiry.take_out_due(late) == 1
