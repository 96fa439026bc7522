"""n8n's editor as its owner uses it, in a real Chromium, behind the agent's login. `make test-engines` runs it."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from playwright.async_api import Locator, Page, expect

from agents.engines.n8n_workflow import AGENT_ID
from tests.agents.engines.conftest import REAL_KEY, EnginePod
from tests.agents.engines.test_n8n_owner import HOOK, PASSWORD, USERNAME, N8nOwner, start
from tests.browser import complaints, one_window
from tests.doubles.web_page import WebPage

pytestmark = [
    pytest.mark.engines,
    pytest.mark.browser,
    pytest.mark.parametrize("engine", ["n8n"], indirect=True),
]

MILLISECONDS = 90_000  # time for the page to show something: it loads thousands of files
PICTURES = "N8N_PICTURES"  # the variable that names a directory for screenshots of the editor


@asynccontextmanager
async def editor(owner: N8nOwner) -> AsyncIterator[Page]:
    async with one_window(owner.root) as page:
        page.set_default_timeout(MILLISECONDS)
        yield page


def part(page: Page, name: str) -> Locator:
    """The element with this name in n8n's own tests."""
    return page.locator(f"[data-test-id={name}]")


async def shows(what: Locator, text: str = "") -> None:
    await expect(what.filter(has_text=text).first).to_be_visible(timeout=MILLISECONDS)


async def keep(page: Page, name: str) -> None:
    if PICTURES in os.environ:
        await page.screenshot(full_page=True, path=Path(os.environ[PICTURES]) / f"{name}.png")


async def sign_in_as_owner(page: Page) -> None:
    await page.goto("/login")
    await page.locator("input[name=username]").fill(USERNAME)
    await page.locator("input[name=password]").fill(PASSWORD)
    await page.locator("form button").click()


def test_its_owner_tries_the_agent_and_his_new_workflow_is_saved(pod: EnginePod) -> None:
    owner = start(pod)
    pod.model.reply = "Ahoy from the model"
    asyncio.run(_try_and_build(owner, lambda: len(_own(owner)) == 1))
    assert "Hello from the editor" in str(pod.model.turns()[-1].body)
    (made,) = _own(owner)
    whole = owner.done("GET", f"/rest/workflows/{made['id']}")
    assert [node["type"] for node in whole["nodes"]] == ["n8n-nodes-base.scheduleTrigger"]


def _own(owner: N8nOwner) -> list[dict[str, Any]]:
    return [one for one in owner.done("GET", "/rest/workflows") if one["id"] != AGENT_ID]


async def _try_and_build(owner: N8nOwner, is_saved: Callable[[], bool]) -> None:
    async with editor(owner) as page:
        await sign_in_as_owner(page)
        await shows(part(page, "workflow-card-name"), "(kept by Agentpods)")
        await keep(page, "workflows")
        assert [text for text in await complaints(page) if "Content Security Policy" in text] == []
        await page.goto(f"/workflow/{AGENT_ID}")
        await part(page, "workflow-chat-button").click()
        box = part(page, "canvas-chat").locator("textarea")
        await box.fill("Hello from the editor")
        await box.press("Enter")
        await shows(part(page, "canvas-chat"), "Ahoy from the model")
        # n8n reports the progress of a run in a stream of events that never ends.
        await shows(part(page, "logs-overview"), "Success in")
        await keep(page, "agent")
        await page.goto("/workflow/new")
        await part(page, "canvas-plus-button").click()
        await part(page, "node-creator-search-bar").fill("Schedule Trigger")
        await part(page, "node-creator-item-name").filter(has_text="Schedule Trigger").first.click()
        until = time.monotonic() + MILLISECONDS / 1000
        while not await asyncio.to_thread(is_saved):
            assert time.monotonic() < until, "it was not saved"
            await asyncio.sleep(0.5)
        await keep(page, "new")


def test_nobody_and_no_visitor_of_another_agent_sees_it(pod: EnginePod, second: EnginePod) -> None:
    owner, other = start(pod), start(second)
    (foreign,) = other._session.cookies.get_dict().values()
    (name,) = owner._session.cookies.get_dict()
    paths = ("/home/workflows", "/rest/workflows", f"/rest/credentials/{AGENT_ID}-model", "/rest/push?pushRef=abc")
    for cookies in ({}, {name: foreign}, {name: "forged"}, {"n8n-auth": "forged"}):
        for path in paths:
            assert requests.get(owner.root + path, cookies=cookies, timeout=10).status_code == 404
    asyncio.run(_look_as_nobody(owner))


async def _look_as_nobody(owner: N8nOwner) -> None:
    """The error page loads nothing of the editor."""
    async with editor(owner) as page:
        await page.goto(f"/workflow/{AGENT_ID}", wait_until="networkidle")
        await expect(page.locator("body")).to_contain_text("no such page")
        asked = [one.url for one in await page.requests()]
        assert [url for url in asked if "/rest/" in url or "n8n" in url] == []


def test_no_workflow_of_its_owner_gets_the_key(pod: EnginePod) -> None:
    """One workflow sends the agent's credential to a page of the owner. The other looks around in its own process."""
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
