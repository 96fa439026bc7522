"""A backup of each real engine by the real restic, restored on another machine and into the agent's next pod."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import requests

from agents.backups import credentials
from agents.pod import restic
from agents.pod.turns.failures import HopFailure
from agents.runtimes import pod_backups
from agents.runtimes.pod_backups import BackupOrder, BackupState
from tests.agents.engines.conftest import ACCESS, EnginePod
from tests.agents.engines.expectations import expected
from tests.agents.engines.test_n8n_owner import HOOK, N8nOwner, call, start
from tests.agents.pod.bridge.process import eventually
from tests.doubles.web_page import WebPage

pytestmark = pytest.mark.engines

AGENT = "agt_real"
PASSWORD = "of the repository"


@pytest.fixture
def order(program: Path, url: str, tmp_path: Path) -> BackupOrder:  # fixtures
    store = restic.environment(repository=str(tmp_path / "store" / AGENT), cache=None, more={})
    subprocess.run([program, "--quiet", "init"], env=store, input=PASSWORD.encode(), check=True)
    may_add = credentials.mint(AGENT, may_add=10**9)
    return BackupOrder(id="bkp_1", url=url, credential=may_add, password=PASSWORD, most_bytes=10**9)


def back_up(pod: EnginePod, order: BackupOrder) -> str:
    """Make a backup while the pod runs. Returns its snapshot."""

    def made() -> BackupState | None:
        endpoint = pod.runtime.endpoint(pod.namespace)
        assert endpoint
        state = pod_backups.back_up(endpoint, ACCESS, order)
        assert state.phase != "failed", state.message
        return state if state.phase == "done" else None

    taken = eventually(made, within=120, what="the backup")
    assert (taken.message, taken.broken) == ("", 0)
    return str(taken.snapshot)


def restore(pod: EnginePod, order: BackupOrder, snapshot: str, begin: Callable[[], None]) -> None:
    """Restore the snapshot. `begin` starts the pod; its engine starts when the data is there."""
    pod.spec = dataclasses.replace(pod.spec, restore="bkp_1.2")
    begin()
    way = dataclasses.replace(order, id="bkp_1.2", credential=credentials.mint(AGENT), snapshot=snapshot)

    def restored() -> bool:
        endpoint = pod.runtime.endpoint(pod.namespace)
        with suppress(HopFailure):
            return endpoint is not None and pod_backups.restore(endpoint, ACCESS, way).phase == "done"
        return False

    eventually(restored, within=120, what="the restore")
    pod.wait_ready(within=120)


def rebuild(pod: EnginePod) -> None:
    """Replace this pod with another one that has the same data."""
    pod.runtime.delete(pod.namespace, agent_id=AGENT, data=False)
    number = int(pod.namespace.rpartition("-")[2]) + 1
    pod.namespace = f"pod-real-{number}"
    pod.spec = dataclasses.replace(pod.spec, namespace=pod.namespace, data_expected=True)
    pod.runtime.deploy(pod.spec)


def said(pod: EnginePod) -> list[str]:
    return expected(pod).said(pod.model.turns()[-1])


def test_a_conversation_is_restored_into_the_next_pod_and_stays_there(pod: EnginePod, order: BackupOrder) -> None:
    pod.start()
    pod.say("My boat is called Nautilus.")
    snapshot = back_up(pod, order)
    pod.say("Forget this.")
    restore(pod, order, snapshot, lambda: rebuild(pod))
    assert pod.say("What is its name?") == "pong"
    assert said(pod) == ["My boat is called Nautilus.", "pong", "What is its name?"]
    rebuild(pod)
    pod.wait_ready(within=120)
    assert pod.say("Still?") == "pong"
    assert said(pod)[-3:] == ["What is its name?", "pong", "Still?"]


def test_a_conversation_is_restored_in_another_directory(pod: EnginePod, second: EnginePod, order: BackupOrder) -> None:
    """The first pod still runs. The second pod must not mistake the first pod's notes about its process for its own."""
    pod.start()
    pod.say("My boat is called Nautilus.")
    snapshot = back_up(pod, order)
    pod.say("Forget this.")
    restore(second, order, snapshot, lambda: second.runtime.deploy(second.spec))
    assert second.say("What is its name?") == "pong"
    assert said(second) == ["My boat is called Nautilus.", "pong", "What is its name?"]


@pytest.mark.parametrize("engine", ["n8n"], indirect=True)
def test_what_an_owner_built_in_n8n_is_restored_and_opens_his_credentials(
    pod: EnginePod, second: EnginePod, order: BackupOrder
) -> None:
    with WebPage("the shop") as shop:
        owner = start(pod)
        owner.publish(HOOK)
        owner.publish(_asks_the_shop(owner, shop.url))
        snapshot = back_up(pod, order)
        for gone in owner.done("GET", "/rest/workflows"):
            if gone["name"] in {"Orders", "Shop"}:
                owner.done("POST", f"/rest/workflows/{gone['id']}/archive")
        # The login at the owner's editor comes with the pod, and not from the backup.
        second.spec = dataclasses.replace(second.spec, secrets=pod.spec.secrets, config=pod.spec.config)
        restore(second, order, snapshot, lambda: second.runtime.deploy(second.spec))
        _works(second, shop)
        restore(pod, order, snapshot, lambda: rebuild(pod))
        _works(pod, shop)
        rebuild(pod)
        pod.wait_ready(within=120)
        _works(pod, shop)


def _works(pod: EnginePod, shop: WebPage) -> None:
    root = N8nOwner(pod).root
    assert call(root, 21).json() == {"twice": 42}
    assert requests.post(f"{root}/webhook/shop", json={}, timeout=60).ok
    assert shop.headers.pop()["x-shop"] == "secret-of-the-shop"


def _asks_the_shop(owner: N8nOwner, url: str) -> dict[str, Any]:  # an address
    secret = {"name": "Shop", "type": "httpHeaderAuth", "data": {"name": "x-shop", "value": "secret-of-the-shop"}}
    made = owner.done("POST", "/rest/credentials", secret)
    hook = HOOK["nodes"][0]
    asks = {
        "id": "shop-asks",
        "name": "Code",
        "type": "n8n-nodes-base.httpRequest",
        "typeVersion": 4.2,
        "position": [200, 0],
        "parameters": {"url": url, "authentication": "genericCredentialType", "genericAuthType": "httpHeaderAuth"},
        "credentials": {"httpHeaderAuth": {"id": made["id"], "name": "Shop"}},
    }
    trigger = {**hook, "webhookId": "shop", "parameters": {**hook["parameters"], "path": "shop"}}
    return {**HOOK, "name": "Shop", "nodes": [trigger, asks]}
