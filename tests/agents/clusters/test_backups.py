"""An agent in a cluster is backed up, restored, and brought back after its deletion, through the API and the rules."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from agents.backups import by_owner, repositories, restoring, taking, undoing
from agents.backups.models import OPEN, Backup, Kind, Stage
from agents.cause import Cause
from agents.models import Agent, Reason
from agents.pod.archive import OWN
from tests.agents.backups.killing import Child, Started, bytes_in
from tests.agents.backups.orders import contents
from tests.agents.clusters import ground
from tests.agents.clusters.test_flow import ApiOwner
from tests.agents.pod.bridge.process import eventually
from tests.agents.runtimes.conftest import REAL_KEY
from tests.doubles.kube_api import KubeApi

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.unmeasured,
    pytest.mark.skipif(ground.is_real, reason="its pods do not reach an endpoint of this machine"),
]

FILES, FILE_BYTES = 30, 4_000_000


@pytest.fixture
def api(tmp_path: Path, settings: Settings, program: Path, url: str) -> Iterator[KubeApi]:
    settings.AGENT_RUNTIME, settings.LLM_KEY_CHECK = "kubernetes", False
    settings.BACKUP_STORE, settings.BACKUP_URL = str(tmp_path / "store"), url
    with (
        ground.double(tmp_path, settings, run=True) as (found, _),
        ground.observing(),
        ground.reconciling(),
        ground.backing_up(),
    ):
        yield found


@pytest.mark.slow
def test_it_is_backed_up_restored_repaired_deleted_and_brought_back(client: APIClient, api: KubeApi) -> None:
    owner = ApiOwner(client)
    owner.until("running")
    assert owner.say("say one") == "one"
    name = owner.post("/backups")["backup"]["name"]
    assert owner.say("say two") == "two"
    owner.post(f"/backups/{name}/restore")
    owner.until_seen(lambda agent: agent["status"] == "running" and owner.row().generation == 2, "the restored one")
    assert owner.say("count") == "1"

    # The disk breaks. A rebuild finds that and restores the data by itself.
    (volume,) = api.objects("PersistentVolume")
    for found in api.directory_of(volume["metadata"]["name"]).rglob("pi"):
        shutil.rmtree(found)
    owner.post("/rebuild")
    owner.until_seen(lambda agent: agent["status"] == "running" and owner.row().generation == 4, "the repaired one")
    assert owner.row().transitions.filter(note__startswith=f"{Cause.DATA_DAMAGED}: its data is restored from").exists()
    assert int(owner.say("count")) > 0

    said = int(owner.say("count"))
    old = owner.row()
    assert client.delete(owner.path).status_code == 204
    eventually(lambda: Agent.objects.get(pk=old.pk).status == "deleted", within=60, what="the deletion")
    owner.id = undoing.undo(old, actor="operator:x", why="a mistake").pk
    owner.until("running")
    body = {"provider": "openai", "key": REAL_KEY}
    assert client.patch(f"{owner.path}/llm-key", body, format="json").status_code == 200
    wanted = owner.row().spec_revision
    eventually(lambda: owner.get("/explain")["explanation"]["cause"] != "NO_MODEL_KEY", within=30, what="its key")
    assert owner.row().spec_revision == wanted
    assert eventually(lambda: owner.say("count"), within=30, what="its conversation") == str(said + 1)


@pytest.fixture
def large(
    client: APIClient,
    tmp_path: Path,
    settings: Settings,
    program: Path,
    store: Path,
    endpoint: Started,
) -> Iterator[tuple[ApiOwner, Path, Child]]:
    """A running agent with so much data that a kill comes before the end, and the endpoint as a process."""
    settings.AGENT_RUNTIME, settings.LLM_KEY_CHECK = "kubernetes", False
    settings.BACKUP_URL, start = endpoint
    with (
        ground.double(tmp_path, settings, run=True) as (found, _),
        ground.observing(),
        ground.reconciling(),
        ground.backing_up(),
    ):
        first = start()
        owner = ApiOwner(client)
        owner.until("running")
        (volume,) = found.objects("PersistentVolume")
        (home,) = found.directory_of(volume["metadata"]["name"]).rglob("pi")
        data = home.parent
        (data / "workspace" / "large").mkdir(parents=True)
        for number in range(FILES):
            (data / "workspace" / "large" / f"{number}").write_bytes(os.urandom(FILE_BYTES))
        yield owner, data, first


@pytest.mark.slow
def test_an_endpoint_that_is_killed_is_waited_for_and_what_came_of_it_is_told(
    large: tuple[ApiOwner, Path, Child],
    store: Path,
    endpoint: Started,
) -> None:
    owner, data, first = large
    agent, files = owner.row(), data / "workspace" / "large"
    backup = taking.ask(agent, kind=Kind.ASKED, actor="x")

    def is_half_made() -> bool:
        backup.refresh_from_db()
        assert backup.stage in OPEN, backup.note
        return bytes_in(store / agent.pk / "data") > 2 * FILE_BYTES

    first.kill_when(is_half_made)
    second = endpoint[1]()
    eventually(lambda: not Backup.objects.filter(stage__in=OPEN).exists(), within=300, what="the end of the backup")
    backup.refresh_from_db()
    if backup.stage == Stage.FAILED:
        assert agent.transitions.filter(note=f"no backup: {backup.note}").exists()
        backup = by_owner.take(agent, actor="x")
    assert agent.transitions.filter(note__startswith=f"backup {backup.name} made").exists()
    repositories.call(agent.repository, ["check", "--read-data", "--no-lock"])

    saved = contents(files)
    (files / "0").write_bytes(b"changed since")
    changed = contents(files)
    restoring.restore(agent, backup, actor="x")
    second.kill_when(lambda: bytes_in(data / OWN / "incoming") > FILES * FILE_BYTES // 4, within=300)
    assert contents(files) == changed
    endpoint[1]()
    ended = {"running", "failed"}
    eventually(lambda: owner.get()["agent"]["status"] in ended, within=300, what="the end of the restore")
    told = owner.row().transitions.filter(reason=Reason.RESTORE)
    assert told.filter(note=f"from backup {backup.name}").exists()
    is_restored = owner.row().status == "running"
    assert contents(files) == (saved if is_restored else changed)
    assert is_restored or told.filter(note__startswith="RESTORE: ").exists()
