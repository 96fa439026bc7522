"""Pods and the supervisor that started them, with a real engine."""

from __future__ import annotations

import signal
import time
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from tests.config.conftest import ROOT, MakeRun, Run

pytestmark = pytest.mark.engines

INSTALL_SECONDS = 300
END_SECONDS = 15
ORPHAN_SECONDS = 60


def make_agent(run: Run) -> dict[str, Any]:
    """Create an agent through the API with a new account, and wait until it runs."""
    base, mail = f"http://127.0.0.1:{run.port}", {"email": "pods@example.com"}
    code = requests.post(f"{base}/auth/request", json=mail, timeout=10).json()["devCode"]
    token = requests.post(f"{base}/auth/verify", json={**mail, "code": code}, timeout=10).json()["token"]
    bearer = {"Authorization": f"Bearer {token}"}
    persona = requests.get(f"{base}/personas", timeout=10).json()["personas"][0]["id"]
    wanted = {"personaId": persona, "tier": "tiny", "name": "Pod"}
    made = requests.post(f"{base}/agents", json=wanted, headers=bearer, timeout=30)
    assert made.status_code == 200, made.text
    path = f"{base}/agents/{made.json()['agent']['id']}"
    seen: dict[str, Any] = {}

    def is_running() -> bool:
        seen.update(requests.get(path, headers=bearer, timeout=10).json()["agent"])
        assert seen["status"] != "failed", requests.get(f"{path}/explain", headers=bearer, timeout=10).text
        return bool(seen["status"] == "running")

    run.wait(is_running, seconds=INSTALL_SECONDS)
    return seen


@pytest.fixture
def run(make_run: MakeRun) -> Run:
    return make_run(ENGINE_CACHE=str(ROOT / "var" / "engines"))


def test_pods_end_with_a_stopped_supervisor(run: Run) -> None:
    run.start()
    make_agent(run)
    pods = run.pods()
    assert len(pods) >= 3
    run.signal(signal.SIGTERM)
    began = time.monotonic()
    assert run.exit_status(within=END_SECONDS) == 0
    run.wait(lambda: not any(pod.is_running() for pod in pods), seconds=END_SECONDS - (time.monotonic() - began))


def test_pods_end_within_a_minute_of_a_killed_supervisor_and_come_back_with_the_next(run: Run) -> None:
    run.start()
    agent = make_agent(run)
    pods = run.pods()
    run.signal(signal.SIGKILL)
    run.exit_status(within=5)
    run.wait(lambda: not any(pod.is_running() for pod in pods) and not run.everything(), seconds=ORPHAN_SECONDS)
    run.start()
    port = urlsplit(agent["endpointUrl"]).port
    run.wait(lambda: run.status("/healthz", port) == 200, seconds=60)


def test_pods_outlive_their_worker_and_the_router_leads_to_them(run: Run) -> None:
    run.start()
    agent = make_agent(run)
    pods = {pod.pid for pod in run.pods()}
    killed = run.running()["worker"]
    killed.kill()
    run.wait(lambda: run.running().get("worker", killed) != killed, seconds=END_SECONDS)
    assert {pod.pid for pod in run.pods()} == pods
    host = {"Host": f"{agent['a2aSlug']}.pods.localhost"}
    found = requests.get(f"http://127.0.0.1:{run.port + 1}/healthz", headers=host, timeout=10)
    assert found.status_code == 200
