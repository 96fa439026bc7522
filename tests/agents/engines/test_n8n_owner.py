"""What the owner builds in n8n beside the agent: his editor, workflows and webhooks. `make test-engines` runs it."""

from __future__ import annotations

import dataclasses
import fnmatch
import shutil
import time
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from agents.engines.n8n_workflow import AGENT_ID
from agents.pod.bridge.backup import COMMON
from agents.runtimes.base import Phase
from tests.agents.engines.conftest import REAL_KEY, EnginePod
from tests.agents.pod.bridge.process import eventually
from tests.doubles.model_server import Mood

pytestmark = [pytest.mark.engines, pytest.mark.parametrize("engine", ["n8n"], indirect=True)]

USERNAME, PASSWORD = "ada", "correct horse battery"
HOOK: dict[str, Any] = {
    "name": "Orders",
    "nodes": [
        {
            "id": "5d3b8a0e-0000-4000-8000-000000000001",
            "name": "Webhook",
            "type": "n8n-nodes-base.webhook",
            "typeVersion": 2,
            "position": [0, 0],
            "webhookId": "5d3b8a0e-0000-4000-8000-0000000000aa",
            "parameters": {"path": "orders", "httpMethod": "POST", "responseMode": "lastNode"},
        },
        {
            "id": "5d3b8a0e-0000-4000-8000-000000000002",
            "name": "Code",
            "type": "n8n-nodes-base.code",
            "typeVersion": 2,
            "position": [200, 0],
            "parameters": {"jsCode": "return [{ json: { twice: 2 * $input.first().json.body.order } }]"},
        },
    ],
    "connections": {"Webhook": {"main": [[{"node": "Code", "type": "main", "index": 0}]]}},
    "settings": {"executionOrder": "v1"},
}


class N8nOwner:
    """The owner, signed in at the pod's public address as with a browser."""

    def __init__(self, pod: EnginePod, *, address: str = "") -> None:
        """`address` leads browsers to the pod. The test connects to the pod directly, and sends this host name."""
        endpoint = pod.runtime.endpoint(pod.namespace)
        assert endpoint
        self.root = endpoint.public_url
        self.address = address or self.root
        self._session = requests.Session()
        self._session.headers.update({"Origin": self.address, "Host": urlsplit(self.address).netloc})
        form = {"username": USERNAME, "password": PASSWORD}
        answer = self._session.post(f"{self.root}/login", data=form, allow_redirects=False, timeout=10)
        assert (answer.status_code, answer.headers["Location"]) == (303, "/dashboard")

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> requests.Response:
        return self._session.request(method, self.root + path, json=body, timeout=60)

    def done(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        answer = self.ask(method, path, body)
        assert answer.ok, answer.text
        return answer.json()["data"]

    def publish(self, workflow: dict[str, Any]) -> str:
        made = self.done("POST", "/rest/workflows", workflow)
        self.done("POST", f"/rest/workflows/{made['id']}/activate", {"versionId": made["versionId"]})
        return str(made["id"])


def start(pod: EnginePod, **config: Any) -> N8nOwner:
    secrets = dataclasses.replace(pod.spec.secrets, dash_username=USERNAME, dash_password=PASSWORD)
    pod.spec = dataclasses.replace(pod.spec, secrets=secrets)
    pod.start(dashboard=True, **config)
    return N8nOwner(pod)


def call(root: str, order: int) -> requests.Response:
    """Call the webhook as a stranger."""
    return requests.post(f"{root}/webhook/orders", json={"order": order}, timeout=60)


def test_his_editor_needs_no_second_login_and_shows_the_agent_which_it_may_not_change(pod: EnginePod) -> None:
    owner = start(pod)
    shown = owner.ask("GET", "/home/workflows")
    assert shown.status_code == 200
    assert "n8n" in shown.text
    assert "'self'" in shown.headers["Content-Security-Policy"]
    script = shown.text.partition('src="/')[2].partition('"')[0]
    assert (
        owner.ask("GET", f"/{script}").headers["Content-Type"].startswith(("application/javascript", "text/javascript"))
    )
    assert owner.done("GET", "/rest/login")["role"] == "global:owner"
    assert AGENT_ID in {one["id"] for one in owner.done("GET", "/rest/workflows")}
    assert owner.ask("PATCH", f"/rest/workflows/{AGENT_ID}", {"name": "mine"}).status_code == 403
    with owner._session.get(f"{owner.root}/rest/push?pushRef=abc", stream=True, timeout=10) as live:
        assert live.status_code == 200
        assert live.headers["Content-Type"].startswith("text/event-stream")
    stranger = requests.get(f"{owner.root}/rest/workflows", timeout=10)
    assert stranger.status_code == 404


def test_his_webhooks_answer_anybody_and_stay_his_when_the_agent_changes(pod: EnginePod) -> None:
    owner = start(pod)
    workflow = owner.publish(HOOK)
    before = owner.done("GET", f"/rest/workflows/{workflow}")
    assert call(owner.root, 21).json() == {"twice": 42}
    pod.change(soul="You are Nurse Blip.", provider="anthropic", model="claude-opus-5-5")
    assert pod.say("hello") == "pong"
    assert "Nurse Blip" in pod.model.turns()[-1].system
    assert call(owner.root, 4).json() == {"twice": 8}
    assert owner.done("GET", f"/rest/workflows/{workflow}")["versionId"] == before["versionId"]
    # The agent itself cannot be called as a webhook.
    asked = len(pod.model.turns())
    chat = {"action": "sendMessage", "sessionId": "x", "chatInput": "hi"}
    assert requests.post(f"{owner.root}/webhook/{AGENT_ID}/chat", json=chat, timeout=10).status_code == 404
    assert len(pod.model.turns()) == asked


def test_a_backup_holds_conversations_workflows_and_credentials_that_can_be_read(
    pod: EnginePod, second: EnginePod
) -> None:
    owner = start(pod)
    owner.publish(HOOK)
    credential = {"name": "Shop", "type": "httpHeaderAuth", "data": {"name": "x-shop", "value": "secret-of-the-shop"}}
    made = owner.done("POST", "/rest/credentials", credential)
    pod.say("My boat is called Nautilus.")
    pod.runtime.stop(pod.namespace)
    eventually(lambda: pod.seen().phase == Phase.STOPPED, what="the stop")
    _copy_as_a_backup_does(pod, second)
    again = start(second)
    assert second.say("What is its name?") == "pong"
    said = [text for _, text in second.model.turns()[-1].said]
    assert said == ["My boat is called Nautilus.", "pong", "What is its name?"]
    assert call(again.root, 3).json() == {"twice": 6}
    kept = again.done("GET", f"/rest/credentials/{made['id']}?includeData=true")
    assert kept["data"]["name"] == "x-shop"


def test_an_owner_who_looks_into_the_agents_credential_finds_no_key(pod: EnginePod) -> None:
    owner = start(pod)
    credential = owner.done("GET", f"/rest/credentials/{AGENT_ID}-model?includeData=true")
    assert REAL_KEY not in str(credential)


def _copy_as_a_backup_does(one: EnginePod, other: EnginePod) -> None:
    patterns = (*one.engine.stores.left_out, *COMMON)
    for path in one.data.rglob("*"):
        name = path.relative_to(one.data)
        parts = [str(part) for part in (name, *name.parents)]
        if path.is_file() and not any(fnmatch.fnmatch(part, pattern) for part in parts for pattern in patterns):
            target = other.data / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)


@pytest.mark.parametrize("provider", ["anthropic", "google"])
def test_models_whose_nodes_try_for_minutes_fail_in_time(pod: EnginePod, provider: str) -> None:
    pod.start(provider=provider, model={"anthropic": "claude-opus-5-5", "google": "gemini-2.5-flash"}[provider])
    for mood in (Mood.BROKEN, Mood.RATE_LIMITED):
        pod.model.mood = mood
        started = time.monotonic()
        assert pod.failing_hop() == "model"
        assert time.monotonic() - started < 40
