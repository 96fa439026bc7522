"""The real openclaw's own page: the owner signs in to the agent only, and does not become openclaw's operator."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Self

import aiohttp
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from playwright.async_api import expect

from agents.engines.openclaw import OPENCLAW
from agents.pod import tickets
from tests.agents.engines.conftest import REAL_KEY, TICKET_KEY, EnginePod
from tests.browser import complaints, one_window
from tests.doubles.mcp_http import McpHttpServer
from tests.doubles.telegram import TOKEN, TelegramDouble

pytestmark = [
    pytest.mark.engines,
    pytest.mark.parametrize("engine", [OPENCLAW.id], indirect=True),
]

SECONDS = 60  # time for the page to show something
WANTED = ("read", "write", "admin", "approvals", "pairing", "questions", "talk.secrets")
HEADERS = {"x-crm-key": "key-of-the-owners-crm"}


def root(pod: EnginePod) -> str:
    endpoint = pod.runtime.endpoint(pod.namespace)
    assert endpoint
    return endpoint.public_url


def door(pod: EnginePod) -> str:
    return f"{root(pod)}/ticket?t={tickets.mint(TICKET_KEY, pod.namespace, datetime.now(UTC))}"


class Reader:
    """openclaw's page in a browser: it shows a device of its own and asks for all rights."""

    def __init__(self, line: aiohttp.ClientWebSocketResponse) -> None:
        self._line = line
        self._asked = 0

    async def greet(self) -> Self:
        challenge = (await self._line.receive_json(timeout=30))["payload"]
        self.hello = await self.ask("connect", _introduction(challenge["nonce"], challenge["ts"]))
        return self

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request. Returns openclaw's answer, with `ok` and with `payload` or `error`."""
        self._asked += 1
        request = {"type": "req", "id": str(self._asked), "method": method, "params": params or {}}
        await self._line.send_json(request)
        while True:
            answer: dict[str, Any] = await self._line.receive_json(timeout=60)
            if answer.get("id") == str(self._asked):
                return answer


def _introduction(nonce: str, moment: int) -> dict[str, Any]:
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes_raw()
    device, scopes = hashlib.sha256(public).hexdigest(), [f"operator.{name}" for name in WANTED]
    client = {"id": "openclaw-control-ui", "version": "control-ui", "platform": "web", "mode": "webchat"}
    signed = "|".join(
        ["v2", device, client["id"], client["mode"], "operator", ",".join(scopes), str(moment), "", nonce]
    )
    shown = {"publicKey": _text(public), "signature": _text(key.sign(signed.encode())), "signedAt": moment}
    return {
        "minProtocol": 4,
        "maxProtocol": 4,
        "client": client,
        "role": "operator",
        "scopes": scopes,
        "caps": [],
        "device": {"id": device, "nonce": nonce, **shown},
    }


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


@asynccontextmanager
async def reader(pod: EnginePod) -> AsyncIterator[Reader]:
    """A reader that is signed in to the agent, as the page is."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as client:
        async with client.get(door(pod)) as entered:
            assert entered.status == 200
        url = f"{root(pod)}/openclaw"
        async with client.ws_connect(url, headers={"Origin": root(pod)}, max_msg_size=0) as line:
            yield await Reader(line).greet()


def test_its_page_asks_its_owner_for_nothing_and_the_agent_answers_on_it(pod: EnginePod) -> None:
    pod.start()
    pod.say("My boat is called Nautilus.", "earlier")
    asyncio.run(_talk_on_the_page(pod))
    seen = pod.model.turns()[-1]
    assert "Captain Zorblax" in seen.system
    (said,) = [text for _, text in seen.said]
    assert said.endswith("Are you there?")  # before these words openclaw names the sender
    assert "Nautilus" not in said


async def _talk_on_the_page(pod: EnginePod) -> None:
    async with one_window(root(pod), width=1200) as page:
        page.set_default_timeout(SECONDS * 1000)
        shown, box = page.locator("body"), page.locator("textarea").first
        await page.goto(door(pod))
        await page.goto("/dashboard")
        await expect(shown).to_contain_text("Connected", timeout=SECONDS * 1000)  # the page connects by itself
        await expect(shown).to_contain_text("earlier", timeout=SECONDS * 1000)  # the agent's conversations
        await box.fill("Are you there?")
        await box.press("Enter")
        await expect(shown).to_contain_text(re.compile(r"\bpong\b"), timeout=SECONDS * 1000)
        assert not [line for line in await complaints(page) if "Content Security Policy" in line]


def test_the_reader_talks_and_looks_but_changes_nothing_that_the_console_decides(pod: EnginePod) -> None:
    pod.start(toolsets=["file", "terminal", "cronjob"])
    allowed, refused = asyncio.run(_what_he_may(pod))
    assert {name for name, answer in allowed.items() if not answer["ok"]} == set()
    assert {name for name, answer in refused.items() if answer["ok"]} == set()
    assert pod.say("hello") == "pong"


async def _what_he_may(pod: EnginePod) -> tuple[dict[str, Any], dict[str, Any]]:
    job = {
        "name": "boats",
        "schedule": {"kind": "every", "everyMs": 60000},
        "sessionTarget": "isolated",
        "payload": {"kind": "agentTurn", "message": "Count the boats."},
    }
    raw = json.dumps({"gateway": {"auth": {"mode": "none"}}})
    async with reader(pod) as his:
        granted = his.hello["payload"]["auth"]["scopes"]
        assert "operator.write" in granted
        assert not {"operator.admin", "operator.pairing", "operator.talk.secrets"} & set(granted)
        allowed = {name: await his.ask(name) for name in ("health", "sessions.list", "cron.list", "config.get")}
        allowed["chat.send"] = await his.ask(
            "chat.send", {"sessionKey": "agent:main:main", "message": "hello", "idempotencyKey": "once"}
        )
        refused = {
            "config.set": await his.ask("config.set", {"raw": raw}),
            "config.patch": await his.ask("config.patch", {"raw": raw}),
            "config.apply": await his.ask("config.apply", {"raw": raw}),
            "cron.add": await his.ask("cron.add", job),
            "terminal.open": await his.ask("terminal.open", {"cols": 80, "rows": 24}),
            "secrets.resolve": await his.ask("secrets.resolve", {}),
            "device.pair.list": await his.ask("device.pair.list"),
            "update.run": await his.ask("update.run"),
            "skills.install": await his.ask("skills.install", {"source": "clawhub", "slug": "x"}),
        }
        # The owner cannot use a tool that the agent does not have.
        called = await his.ask("tools.invoke", {"name": "web_fetch", "args": {"url": "http://127.0.0.1:1/"}})
        assert called["payload"]["ok"] is False, called
    return allowed, refused


SHOWN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("config.get", {}),
    ("config.schema", {}),
    ("channels.status", {}),
    ("models.list", {}),
    ("models.authStatus", {}),
    ("agents.list", {}),
    ("status", {}),
    ("health", {}),
    ("logs.tail", {}),
    ("skills.status", {}),
    ("tools.catalog", {}),
    ("usage.status", {}),
)


def test_nothing_that_the_page_is_told_has_a_key_a_token_or_a_password_in_it(pod: EnginePod) -> None:
    with TelegramDouble() as telegram, McpHttpServer(require=HEADERS) as crm:
        pod.start(
            telegram_api_url=telegram.url,
            channels=["web", "telegram"],
            channel_secrets={"telegramToken": TOKEN},
            mcp_servers=[{**crm.entry("crm"), "headers": HEADERS}],
        )
        pod.say("hello")
        told = asyncio.run(_all_that_is_shown(pod))
    assert '"mcp"' in told  # the settings are part of it
    record = pod.runtime.home.record(pod.namespace)
    assert record
    environment = next(process.environ() for process in pod.engine_processes() if "POD_LLM_TOKEN" in process.environ())
    secrets = {
        "the owner's key": REAL_KEY,
        "the bot's token": TOKEN,
        "the key of a server": HEADERS["x-crm-key"],
        "the pod's token": environment["POD_LLM_TOKEN"],
        "openclaw's password": environment["OPENCLAW_GATEWAY_PASSWORD"],
    }
    assert [name for name, secret in secrets.items() if secret in told] == []


async def _all_that_is_shown(pod: EnginePod) -> str:
    async with reader(pod) as his:
        answers = [json.dumps(his.hello)]
        for method, params in SHOWN:
            answers.append(json.dumps(await his.ask(method, params)))
    return "\n".join(answers)
