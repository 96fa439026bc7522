"""An agent in a cluster is backed up and restored, and brought back after it was deleted, through API and rules."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from agents.backups import undoing
from agents.models import Agent
from agents.runtimes.base import DATA_DAMAGED
from tests.agents.backups.real import program, url  # noqa: F401 # fixtures
from tests.agents.clusters import ground
from tests.agents.clusters.test_flow import Owner
from tests.agents.pod.bridge.process import eventually
from tests.agents.runtimes.conftest import REAL_KEY
from tests.doubles.kube_api import KubeApi

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.unmeasured,
    pytest.mark.skipif(ground.is_real, reason="its pods do not reach an endpoint of this machine"),
]


@pytest.fixture
def api(tmp_path: Path, settings: Settings, program: Path, url: str) -> Iterator[KubeApi]:  # noqa: F811
    settings.AGENT_RUNTIME, settings.LLM_KEY_CHECK = "kubernetes", False
    settings.BACKUP_STORE, settings.BACKUP_URL = str(tmp_path / "store"), url
    with (
        ground.double(tmp_path, settings, run=True) as (found, _),
        ground.observing(),
        ground.reconciling(),
        ground.backing_up(),
    ):
        yield found


def test_it_is_backed_up_restored_repaired_deleted_and_brought_back(client: APIClient, api: KubeApi) -> None:
    owner = Owner(client)
    owner.until("running")
    assert owner.say("say one") == "one"
    name = owner.post("/backups")["backup"]["name"]
    assert owner.say("say two") == "two"
    owner.post(f"/backups/{name}/restore")
    owner.until_seen(lambda agent: agent["status"] == "running" and owner.row().generation == 2, "the restored one")
    assert owner.say("count") == "1"

    # Its disk breaks: a rebuild finds that, and restores by itself.
    (volume,) = api.objects("PersistentVolume")
    for found in api.directory_of(volume["metadata"]["name"]).rglob("pi"):
        shutil.rmtree(found)
    owner.post("/rebuild")
    owner.until_seen(lambda agent: agent["status"] == "running" and owner.row().generation == 4, "the repaired one")
    assert owner.row().transitions.filter(note__startswith=f"{DATA_DAMAGED}: its data is restored from").exists()
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
