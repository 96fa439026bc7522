"""A check finds out by a trial whether a network keeps policies, and nothing of the trial stays."""

from __future__ import annotations

import runpy
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import kubernetes_validate
import pytest

from agents.clusters import enforcement
from agents.clusters.api import names
from agents.clusters.api.client import ClusterFailure
from agents.clusters.api.place import ClusterSettings
from agents.clusters.enforcement import BLOCKED, THROUGH, Undecided
from agents.clusters.models import Enforcement
from tests.agents.clusters.scripted import ScriptedCluster
from tests.patience import Patience

PLACE = ClusterSettings(installation="agentpods", pod_image="images.example.com/agentpods", engine_images={})
EVERYTHING = replace(
    PLACE,
    pull_secret='{"auths": {}}',
    runtime_class="gvisor",
    node_selector={"pods": "yes"},
    tolerations=({"key": "pods", "operator": "Exists"},),
)


@pytest.fixture
def api() -> ScriptedCluster:
    return ScriptedCluster()


def find_out(api: ScriptedCluster, place: ClusterSettings = PLACE) -> Enforcement:
    return enforcement.find_out(api, place, pause=lambda seconds: None)  # type: ignore[arg-type]  # it has what is used


@pytest.mark.parametrize(("enforces", "found"), [(True, Enforcement.ENFORCED), (False, Enforcement.IGNORED)])
def test_a_policy_that_denies_everything_is_kept_or_is_not(
    api: ScriptedCluster, enforces: bool, found: Enforcement
) -> None:
    api.enforces = enforces
    assert find_out(api) == found
    assert api.objects == {}
    assert len(api.deleted) == 1


def test_a_network_on_which_nothing_connects_proves_nothing(api: ScriptedCluster) -> None:
    api.connects = False
    with pytest.raises(Undecided, match=r"^two pods cannot reach each other even without a policy$"):
        find_out(api)
    assert api.objects == {}


def test_a_program_that_ends_otherwise_proves_nothing(api: ScriptedCluster) -> None:
    api.ends_with = 137
    with pytest.raises(Undecided, match=r"ended with 137"):
        find_out(api)


def test_pods_that_never_start_are_waited_for_so_long_and_said_why(
    api: ScriptedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.waits_for = 'Back-off pulling image "images.example.com/agentpods"'
    monkeypatch.setattr(enforcement, "LIMIT_SECONDS", 0.01)
    with pytest.raises(Undecided, match=r"listener: Back-off pulling image"):
        enforcement.find_out(api, PLACE, pause=lambda seconds: time.sleep(0.02))  # type: ignore[arg-type]  # as above
    assert api.objects == {}


def test_without_an_image_nothing_is_tried(api: ScriptedCluster) -> None:
    with pytest.raises(Undecided, match=r"^POD_IMAGE is not set$"):
        find_out(api, replace(PLACE, pod_image=""))
    assert api.applied == []


def test_what_a_killed_worker_left_is_removed_by_the_next_check(api: ScriptedCluster) -> None:
    long_ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    for name, made in {"agentpods-check-old": long_ago, "agentpods-check-young": datetime.now(UTC).isoformat()}.items():
        metadata = {"name": name, "creationTimestamp": made}
        api.objects[f"/api/v1/namespaces/{name}"] = {"kind": "Namespace", "metadata": metadata}
    find_out(api)
    assert list(api.objects) == ["/api/v1/namespaces/agentpods-check-young"]


def test_a_cluster_that_falls_silent_is_left_as_it_is(api: ScriptedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = enforcement.PolicyTrial(api, PLACE, pause=lambda seconds: None)  # type: ignore[arg-type]  # it has what is used
    api.away = True
    with pytest.raises(ClusterFailure):
        trial.run()
    trial.end()


@pytest.mark.parametrize("minor", ["1.31", "1.37"])
def test_all_that_is_made_is_valid_ours_and_no_agents(api: ScriptedCluster, minor: str) -> None:
    find_out(api, EVERYTHING)
    kinds = [manifest["kind"] for manifest in api.applied]
    assert kinds == ["Namespace", "Secret", "Deployment", "Deployment", "NetworkPolicy", "Deployment"]
    for manifest in api.applied:
        kubernetes_validate.validate(manifest, minor, strict=True)
        assert manifest["metadata"]["labels"][names.INSTALLATION_LABEL] == "agentpods"
        assert names.AGENT_LABEL not in manifest["metadata"]["labels"]
    namespace = api.applied[0]["metadata"]
    assert namespace["name"].startswith("agentpods-check-")
    assert namespace["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def run(program: str, *arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the program in this process, with sleeps that take no time. Returns its exit status."""
    script = tmp_path / "program.py"
    script.write_text(program, encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["-c", *arguments])
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(script), run_name="__main__")
    return int(str(ended.value.code))


@pytest.mark.parametrize(
    ("program", "open_code", "closed_code"),
    [(enforcement.CALLER, THROUGH, BLOCKED), (enforcement.CALLER_BEHIND_POLICY, THROUGH, BLOCKED)],
    ids=["without a policy", "behind a policy"],
)
def test_the_callers_end_as_the_network_lets_them(
    program: str, open_code: int, closed_code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = program.replace("time.monotonic() + 20", "time.monotonic() + 0.2")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        threading.Thread(target=_accept, args=(server,), daemon=True).start()
        assert run(quick, "127.0.0.1", port, tmp_path=tmp_path, monkeypatch=monkeypatch) == open_code
    with socket.socket() as silent:  # held open, so that no other program listens there
        silent.bind(("127.0.0.1", 0))
        port = str(silent.getsockname()[1])
        assert run(quick, "127.0.0.1", port, tmp_path=tmp_path, monkeypatch=monkeypatch) == closed_code


def _accept(server: socket.socket) -> None:
    while True:
        try:
            server.accept()[0].close()
        except OSError:
            return


def test_the_listener_takes_callers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with subprocess.Popen([sys.executable, "-S", "-c", enforcement.LISTENER, str(port)]) as listener:
        patience = Patience(10)
        while not _connects(port):
            assert not patience.ended()
            time.sleep(0.02)
        listener.kill()


def _connects(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
