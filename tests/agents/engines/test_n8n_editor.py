"""n8n's editor as its owner uses it: in a real Chromium, behind the agent's login. `make test-engines` runs it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from agents.engines.n8n_workflow import AGENT_ID
from tests.agents.engines.conftest import REAL_KEY, Pod
from tests.agents.engines.test_n8n_owner import HOOK, PASSWORD, USERNAME, Owner, start
from tests.billing.pages.tabs import Tab
from tests.doubles.web_page import WebPage

pytestmark = [
    pytest.mark.engines,
    pytest.mark.browser,
    pytest.mark.parametrize("engine", ["n8n"], indirect=True),
]

SECONDS = 90.0  # until the page shows it: thousands of files, in a browser of one process
PICTURES = "N8N_PICTURES"  # a directory for what the editor looks like
ENTER = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}


class Editor(Tab):
    async def shows(self, selector: str, *, text: str = "") -> None:
        """Wait for it."""
        found = f"[...document.querySelectorAll({json.dumps(selector)})].map(each => each.innerText + '.').join(' ')"
        until = asyncio.get_running_loop().time() + SECONDS
        while asyncio.get_running_loop().time() < until:
            seen = await self.call("Runtime.evaluate", expression=found, returnByValue=True)
            words = str(seen["result"].get("value") or "")
            if words and text in words:
                return
            await asyncio.sleep(0.3)
        raise AssertionError(f"the editor never showed {selector} {text!r}")

    async def enter(self) -> None:
        await self.call("Input.dispatchKeyEvent", type="keyDown", text="\r", **ENTER)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **ENTER)

    async def keep(self, name: str) -> None:
        if PICTURES in os.environ:
            (Path(os.environ[PICTURES]) / f"{name}.png").write_bytes(await self.picture())

    async def sign_in_as_owner(self, root: str) -> None:
        await self.visit(f"{root}/login", width=1280)
        await self.type("input[name=username]", USERNAME)
        await self.type("input[name=password]", PASSWORD)
        await self.click("form button")


def test_its_owner_tries_the_agent_and_his_new_workflow_is_saved(pod: Pod) -> None:
    owner = start(pod)
    pod.model.reply = "Ahoy from the model"
    asyncio.run(_try_and_build(owner, lambda: len(_own(owner)) == 1))
    assert "Hello from the editor" in str(pod.model.turns()[-1].body)
    (made,) = _own(owner)
    whole = owner.done("GET", f"/rest/workflows/{made['id']}")
    assert [node["type"] for node in whole["nodes"]] == ["n8n-nodes-base.scheduleTrigger"]


def _own(owner: Owner) -> list[dict[str, Any]]:
    return [one for one in owner.done("GET", "/rest/workflows") if one["id"] != AGENT_ID]


async def _try_and_build(owner: Owner, is_saved: Callable[[], bool]) -> None:
    async with Editor() as tab:
        await tab.sign_in_as_owner(owner.root)
        await tab.shows("[data-test-id=workflow-card-name]", text="(kept by Agentpods)")
        await tab.keep("workflows")
        assert [text for text in tab.visited.complaints if "Content Security Policy" in text] == []
        await tab.visit(f"{owner.root}/workflow/{AGENT_ID}", width=1280)
        await tab.shows("[data-test-id=workflow-chat-button]")
        await tab.click("[data-test-id=workflow-chat-button]")
        await tab.shows("[data-test-id=canvas-chat] textarea")
        await tab.type("[data-test-id=canvas-chat] textarea", "Hello from the editor")
        await tab.enter()
        await tab.shows("[data-test-id=canvas-chat]", text="Ahoy from the model")
        # What runs is told by events that never end.
        await tab.shows("[data-test-id=logs-overview]", text="Success in")
        await tab.keep("agent")
        await tab.visit(f"{owner.root}/workflow/new", width=1280)
        await tab.shows("[data-test-id=canvas-plus-button]")
        await tab.click("[data-test-id=canvas-plus-button]")
        await tab.shows("[data-test-id=node-creator-search-bar]")
        await tab.call("Input.insertText", text="Schedule Trigger")
        await tab.shows("[data-test-id=node-creator-item-name]", text="Schedule Trigger")
        await tab.click("[data-test-id=node-creator-item-name]")
        until = asyncio.get_running_loop().time() + SECONDS
        while not await asyncio.to_thread(is_saved):
            assert asyncio.get_running_loop().time() < until, "it was not saved"
            await asyncio.sleep(0.5)
        await tab.keep("new")


def test_nobody_and_no_visitor_of_another_agent_sees_it(pod: Pod, second: Pod) -> None:
    owner, other = start(pod), start(second)
    (foreign,) = other._session.cookies.get_dict().values()
    (name,) = owner._session.cookies.get_dict()
    paths = ("/home/workflows", "/rest/workflows", f"/rest/credentials/{AGENT_ID}-model", "/rest/push?pushRef=abc")
    for cookies in ({}, {name: foreign}, {name: "forged"}, {"n8n-auth": "forged"}):
        for path in paths:
            assert requests.get(owner.root + path, cookies=cookies, timeout=10).status_code == 404
    assert asyncio.run(_seen_by_nobody(owner.root)) == []


async def _seen_by_nobody(root: str) -> list[str]:
    """What his browser asked for beside the page that is not there."""
    async with Editor() as tab:
        visit = await tab.visit(f"{root}/workflow/{AGENT_ID}", width=1280)
        assert "no such page" in (await tab.page()).one("body").text
        return [url for url in visit.requests if "/rest/" in url or "n8n" in url]


def test_no_workflow_of_its_owner_gets_the_key(pod: Pod) -> None:
    """One shows the agent's credential to a page of his, the other one looks around in its process."""
    owner = start(pod)
    record = pod.runtime.home.record(pod.namespace)
    assert record
    secrets = (REAL_KEY, record.llm_token, record.engine_password)
    with WebPage("hello") as page:
        owner.publish(_hook("shown", _shows_the_credential(page.url)))
        owner.publish(_hook("looked", _looks_around()))
        said = [
            requests.post(f"{owner.root}/webhook/{name}", json={"order": 1}, timeout=60) for name in ("shown", "looked")
        ]
        heard = json.dumps(page.headers)
    assert said[1].ok
    for secret in secrets:
        assert secret not in heard
        assert not [answer for answer in said if secret in answer.text]
    everything = "".join(
        owner.ask("GET", f"/rest/{path}").text
        for path in (
            "workflows",
            f"workflows/{AGENT_ID}",
            "credentials?includeData=true",
            f"credentials/{AGENT_ID}-model?includeData=true",
            "executions",
            "settings",
            "login",
        )
    )
    assert AGENT_ID in everything
    assert not [secret for secret in secrets if secret in everything]


def _hook(name: str, last: dict[str, Any]) -> dict[str, Any]:
    trigger = {**HOOK["nodes"][0], "webhookId": name, "parameters": {**HOOK["nodes"][0]["parameters"], "path": name}}
    given = {"id": f"{name}-last", "name": "Code", "position": [200, 0], **last}
    return {**HOOK, "name": name, "nodes": [trigger, given]}


def _shows_the_credential(url: str) -> dict[str, Any]:
    named = {"id": f"{AGENT_ID}-model", "name": "model"}
    return {
        "type": "n8n-nodes-base.httpRequest",
        "typeVersion": 4.2,
        "parameters": {"url": url, "authentication": "predefinedCredentialType", "nodeCredentialType": "openAiApi"},
        "credentials": {"openAiApi": named},
    }


def _looks_around() -> dict[str, Any]:
    look = """
const seen = [];
const looks = [
  () => process.env,
  () => ({ ...$env }),
  () => require("fs").readFileSync("/proc/self/environ", "utf8"),
  () => globalThis.constructor.constructor("return process")().env,
];
for (const look of looks) {
  try { seen.push(JSON.stringify(look())); } catch (error) { seen.push(String(error)); }
}
return [{ json: { seen } }];
"""
    return {"type": "n8n-nodes-base.code", "typeVersion": 2, "parameters": {"jsCode": look}}
