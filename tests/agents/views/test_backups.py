"""`/agents/{id}/backups`: an owner's backups, made on demand by the agent's own pod."""

from __future__ import annotations

import re
import subprocess
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from agents.backups import by_owner, credentials, downloading, taking
from agents.backups.models import Backup, Kind, Stage
from agents.models import Agent, Reason, Repository
from agents.running import lifecycle, pods
from agents.runtimes.base import Phase
from tests.agents.conftest import settle
from tests.agents.views.conftest import GatewayOf
from tests.doubles.bridge import BridgeDouble
from tests.doubles.runtime import ScriptedRuntime

PASSWORD = "of the repository"

pytestmark = pytest.mark.measures_gateways


@pytest.fixture
def pod(running: Agent, gateway_of: GatewayOf, settings: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Agent:
    """An agent with a pod and a repository, on an installation with backups. A waiting call takes the steps."""
    settings.BACKUP_STORE, settings.BACKUP_URL = str(tmp_path / "store"), "http://127.0.0.1:9"
    Repository.objects.create(agent=running, password=PASSWORD, made_at=timezone.now())
    gateway_of(running)
    monkeypatch.setattr("agents.backups.by_owner.sleep", lambda _: steps())
    return running


def steps() -> None:
    taking.take_due(timezone.now() + taking.LEASE)


def replaced(agent: Agent, gateway_of: GatewayOf) -> None:
    """The old pod makes a backup, and a new pod replaces it."""
    settle(agent)
    steps()
    agent.refresh_from_db()
    gateway_of(agent)
    settle(agent)


def take(client: APIClient, agent: Agent) -> Any:
    return client.post(f"/agents/{agent.pk}/backups")


def listed(client: APIClient, agent: Agent) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"/agents/{agent.pk}/backups").json()["backups"]
    return found


def test_a_backup_is_made_listed_and_shown_by_its_agent(client: APIClient, pod: Agent, bridge: BridgeDouble) -> None:
    assert listed(client, pod) == []
    answer = take(client, pod)
    assert answer.status_code == 200, answer.content
    entry = answer.json()["backup"]
    assert set(answer.json()) == {"backup"}
    assert set(entry) == {"name", "size", "createdAt"}
    assert re.fullmatch(r"[0-9-]+", entry["name"])
    assert entry["size"] == 4096
    assert listed(client, pod) == [entry]
    assert client.get(f"/agents/{pod.pk}").json()["agent"]["lastBackupAt"] == entry["createdAt"]
    note = pod.transitions.filter(reason=Reason.BACKUP).get()
    assert note.note == f"backup {entry['name']} made"
    assert note.actor.startswith("user:")


def test_the_newest_is_first(client: APIClient, pod: Agent) -> None:
    names = [take(client, pod).json()["backup"]["name"] for _ in range(3)]
    assert [entry["name"] for entry in listed(client, pod)] == names[::-1]


def test_the_bridge_gets_the_password_and_a_token_but_no_credential(pod: Agent, bridge: BridgeDouble) -> None:
    backup = taking.ask(pod, kind=Kind.ASKED, actor="user:x")
    bridge.backup = {"phase": "running"}
    steps()
    steps()
    backup.refresh_from_db()
    credential = credentials.read(backup.credential or "")
    assert credential
    assert credential.agent_id == pod.pk
    first, second = bridge.backups
    assert first == second  # the same order, in case the gateway was restarted in between
    assert first["password"] == PASSWORD
    assert first["url"].startswith("http://127.0.0.1:")
    assert backup.credential not in str(first)


def test_a_repeat_joins_the_one_that_is_being_made(client: APIClient, pod: Agent, bridge: BridgeDouble) -> None:
    begun = taking.ask(pod, kind=Kind.ASKED, actor="user:x")
    assert taking.ask(pod, kind=Kind.ASKED, actor="user:y").pk == begun.pk
    assert take(client, pod).json()["backup"]["name"] == begun.name
    assert len(bridge.backups) == 1


def test_one_that_takes_long_is_503_and_goes_on(
    client: APIClient, pod: Agent, bridge: BridgeDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_owner, "WAIT_SECONDS", 0.0)
    bridge.backup = {"phase": "running", "percent": 5}
    answer = take(client, pod)
    assert (answer.status_code, answer["Retry-After"]) == (503, "10")
    assert "it is still running" in answer.json()["message"]
    assert listed(client, pod) == []
    bridge.backup = {"phase": "done", "snapshot": "a" * 64, "size": 1, "note": ""}
    steps()
    assert len(listed(client, pod)) == 1


def test_one_that_fails_says_why_and_leaves_no_trace_in_the_list(
    client: APIClient, pod: Agent, bridge: BridgeDouble
) -> None:
    bridge.backup = {"phase": "failed", "message": "No space left on device"}
    answer = take(client, pod)
    assert answer.status_code == 503
    assert "No space left on device" in answer.json()["message"]
    assert listed(client, pod) == []
    assert client.get(f"/agents/{pod.pk}").json()["agent"]["lastBackupAt"] is None
    assert pod.transitions.filter(note="no backup: No space left on device").exists()


LIES: dict[str, dict[str, Any]] = {
    "no snapshot": {"phase": "done", "size": 1},
    "a snapshot that is a path": {"phase": "done", "snapshot": "../../other", "size": 1},
    "a size in words": {"phase": "done", "snapshot": "a" * 64, "size": "much"},
    "no phase": {},
}


@pytest.mark.sampled
@pytest.mark.parametrize("lie", LIES)
def test_a_pod_that_lies_has_no_backup(
    client: APIClient, pod: Agent, bridge: BridgeDouble, lie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking, "MISSES", dict.fromkeys(Kind, 2))
    bridge.backup = LIES[lie]
    assert take(client, pod).status_code == 503
    assert listed(client, pod) == []


def test_a_size_that_cannot_be_is_bounded(client: APIClient, pod: Agent, bridge: BridgeDouble) -> None:
    bridge.backup = {"phase": "done", "snapshot": "a" * 64, "size": 2**60, "note": ""}
    assert take(client, pod).json()["backup"]["size"] == 2 * 2 * 2**30


def test_a_pod_that_does_not_answer_fails_it_in_the_end(
    client: APIClient, pod: Agent, bridge: BridgeDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking, "MISSES", dict.fromkeys(Kind, 3))
    bridge.stop()
    answer = take(client, pod)
    assert answer.status_code == 503
    assert "bridge gives no answer" in answer.json()["message"]


def test_a_worker_that_was_killed_is_followed_by_another(pod: Agent, bridge: BridgeDouble) -> None:
    backup = taking.ask(pod, kind=Kind.ASKED, actor="user:x")
    Backup.objects.filter(pk=backup.pk).update(look_at=timezone.now() + taking.LEASE)  # it had begun a step
    taking.take_due()
    assert bridge.backups == []
    steps()
    backup.refresh_from_db()
    assert backup.stage == Stage.DONE


def test_a_stopped_agent_is_409(client: APIClient, pod: Agent) -> None:
    settle(lifecycle.pause(pod, reason=Reason.OWNER, actor="user:x"))
    answer = take(client, pod)
    assert answer.status_code == 409
    assert "resume" in answer.json()["message"]


def test_without_a_store_there_are_no_backups(client: APIClient, pod: Agent, settings: Any) -> None:
    settings.BACKUP_STORE = ""
    answer = take(client, pod)
    assert answer.status_code == 409
    assert "BACKUP_STORE" in answer.json()["message"]


def test_another_accounts_agent_is_404(other: APIClient, pod: Agent) -> None:
    assert take(other, pod).status_code == 404
    assert other.get(f"/agents/{pod.pk}/backups").status_code == 404


def test_the_password_is_sealed(pod: Agent) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT password FROM agents_repository")
        assert PASSWORD not in cursor.fetchone()[0]
    assert PASSWORD not in repr(pod.repository) + str(pod.repository)


# One backup by its name.


def one(client: APIClient, agent: Agent) -> str:
    name: str = take(client, agent).json()["backup"]["name"]
    return name


def restore(client: APIClient, agent: Agent, name: str) -> Any:
    return client.post(f"/agents/{agent.pk}/backups/{name}/restore")


def test_a_restore_is_a_rebuild_whose_pod_gets_the_order(
    client: APIClient, pod: Agent, bridge: BridgeDouble, runtime: ScriptedRuntime, gateway_of: GatewayOf
) -> None:
    name = one(client, pod)
    runtime.comes_up_as = Phase.RESTORING
    answer = restore(client, pod, name)
    assert (answer.status_code, answer.json()["agent"]["status"]) == (200, "provisioning")
    replaced(pod, gateway_of)
    spec = runtime.pods[pod.namespace].spec
    first, *again = bridge.restores
    assert again.count(first) == len(again) > 0
    assert (first["id"], first["snapshot"], first["password"]) == (spec.restore, "5" * 64, PASSWORD)
    assert spec.restore.endswith(".2")
    runtime.set(pod.namespace, phase=Phase.READY)
    assert settle(pod).status == "running"
    assert pods.spec_of(pod).restore == ""
    assert pod.transitions.filter(reason=Reason.RESTORE, note=f"from backup {name}").exists()


def test_a_restore_that_fails_is_told_and_a_rebuild_gives_it_up(
    client: APIClient, pod: Agent, runtime: ScriptedRuntime, gateway_of: GatewayOf
) -> None:
    runtime.comes_up_as = Phase.RESTORING
    restore(client, pod, one(client, pod))
    replaced(pod, gateway_of)
    runtime.set(pod.namespace, phase=Phase.FAILED, cause="RESTORE", message="the backup is not restored: x")
    assert settle(pod).cause == "RESTORE"
    runtime.comes_up_as = Phase.READY
    assert client.post(f"/agents/{pod.pk}/rebuild").status_code == 200
    pod.refresh_from_db()
    assert pods.spec_of(pod).restore == ""


def test_while_it_is_provisioned_an_agent_is_not_restored(
    client: APIClient, pod: Agent, runtime: ScriptedRuntime
) -> None:
    name = one(client, pod)
    runtime.comes_up_as = Phase.RESTORING
    assert restore(client, pod, name).status_code == 200
    answer = restore(client, pod, name)
    assert answer.status_code == 409
    assert answer.json()["message"].startswith("restore: ")
    assert client.delete(f"/agents/{pod.pk}/backups/{name}").status_code == 409


def test_a_backup_that_is_deleted_is_gone_and_the_agent_shows_the_one_before(client: APIClient, pod: Agent) -> None:
    older, newer = one(client, pod), one(client, pod)
    before = listed(client, pod)[1]["createdAt"]
    assert client.delete(f"/agents/{pod.pk}/backups/{newer}").status_code == 204
    assert [entry["name"] for entry in listed(client, pod)] == [older]
    assert client.get(f"/agents/{pod.pk}").json()["agent"]["lastBackupAt"] == before
    assert client.delete(f"/agents/{pod.pk}/backups/{older}").status_code == 204
    assert client.get(f"/agents/{pod.pk}").json()["agent"]["lastBackupAt"] is None
    assert client.delete(f"/agents/{pod.pk}/backups/{older}").status_code == 404


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["nothing", "20260101-000000-000000", "..", "%2e%2e%2fx", "x" * 500])
def test_a_name_that_is_no_backup_is_404(client: APIClient, pod: Agent, name: str) -> None:
    path = f"/agents/{pod.pk}/backups/{name}"
    answers = [client.get(path), client.delete(path), client.post(f"{path}/restore")]
    assert {answer.status_code for answer in answers} == {404}


def test_anothers_backup_is_404(other: APIClient, client: APIClient, pod: Agent) -> None:
    path = f"/agents/{pod.pk}/backups/{one(client, pod)}"
    answers = [other.get(path), other.delete(path), other.post(f"{path}/restore")]
    assert {answer.status_code for answer in answers} == {404}


def test_a_download_is_what_the_program_writes_and_breaks_off_where_it_fails(
    client: APIClient, pod: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/agents/{pod.pk}/backups/{one(client, pod)}"

    def writes(script: str) -> None:
        def start(*_: Any) -> subprocess.Popen[bytes]:
            return subprocess.Popen(["/bin/sh", "-c", script], stdout=subprocess.PIPE, bufsize=0)

        monkeypatch.setattr(downloading, "_started", start)

    writes("printf archive")
    answer: Any = client.get(path)
    assert answer["Content-Type"] == "application/gzip"
    assert answer["Content-Disposition"].endswith('.tar.gz"')
    assert b"".join(answer.streaming_content) == b"archive"
    writes("printf half; exit 1")
    broken: Any = client.get(path)
    with pytest.raises(downloading.Broken):
        b"".join(broken.streaming_content)
    writes("exit 1")
    assert client.get(path).status_code == 503
