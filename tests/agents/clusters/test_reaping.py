"""Tests that are killed leave nothing on the cluster where they ran."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from agents.clusters.api import names
from agents.clusters.api.client import Connection
from tests.agents.clusters import ground, reaping
from tests.agents.clusters.escalations import VOLUMES, namespace
from tests.doubles.kube_api import KubeApi

pytestmark = pytest.mark.unmeasured

OURS = names.labels(installation="reaped", agent_id="agt_one")
TESTS = """
import sys
from tests.agents.clusters import reaping
reaping.after_us("reaped")
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def api(tmp_path: Path) -> KubeApi:
    return KubeApi(tmp_path / "cluster")


@pytest.mark.skipif(ground.is_real, reason="there the whole run is killed")
def test_what_killed_tests_have_made_is_taken_away(tmp_path: Path, api: KubeApi) -> None:
    with api, closing(Connection("tests", api.kubeconfig())) as connection:
        environment = dict(os.environ)
        for variable in (reaping.KUBECONFIG, reaping.ADMIN_KUBECONFIG):
            environment[variable] = str(tmp_path / variable)
            Path(environment[variable]).write_text(api.kubeconfig(), encoding="utf-8")
        tests = subprocess.Popen(
            [sys.executable, "-c", TESTS], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert tests.stdout
        assert tests.stdout.readline() == b"ready\n"
        for name, labels in (("pod-one-1", OURS), ("pod-other-1", names.labels(installation="o", agent_id="agt_two"))):
            connection.apply({**namespace(name), "metadata": {"name": name, "labels": dict(labels)}})
        api.put("PersistentVolume", VOLUMES["unclaimed"])
        tests.kill()
        tests.communicate()
        api.wait(lambda: not api.objects("PersistentVolume"))
        api.wait(lambda: connection.find("/api/v1/namespaces/pod-one-1") is None)
        assert connection.find("/api/v1/namespaces/pod-other-1")


@pytest.mark.skipif(ground.is_real, reason="there a run that goes on has such objects")
def test_what_was_made_after_the_end_of_the_tests_stays(api: KubeApi) -> None:
    with api, closing(Connection("tests", api.kubeconfig())) as connection:
        connection.apply({**namespace("pod-next-1"), "metadata": {"name": "pod-next-1", "labels": dict(OURS)}})
        assert reaping.clear(connection, "reaped", until="2000-01-01T00:00:00Z") == []
        assert connection.find("/api/v1/namespaces/pod-next-1")
        assert reaping.clear(connection, "reaped") == ["pod-next-1"]
