"""A program without a model lives an agent's whole life. It has read only `/llms.txt` and `/openapi.json`."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import keys
from accounts.models import User
from agents.models import Agent
from tests.agents.conftest import GatewayOf, settle
from tests.agents.views.test_settling import soon, told
from tests.doubles.chain import Chain

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db(transaction=True)]

MOST_CALLS = 15
_STEP = re.compile(
    r"^\d+\. `(?P<method>[A-Z]+) (?P<path>[^?`]+)(?P<query>\?[^`]*)?`(?: with `Prefer: (?P<prefer>[^`]+)`)?\n"
    r"(?:   Send: `(?P<body>.+)`\n)?(?P<keeps>(?:   Keep: `.+`\n)*)",
    re.MULTILINE,
)


@dataclass
class ReaderOfDocuments:
    """It does the steps in their order, and puts the values that it knows in the place of `{words}`."""

    api: APIClient
    known: dict[str, str]
    calls: int = 0

    def read(self, path: str) -> str:
        self.calls += 1
        return str(self.api.get(path).content.decode())

    def live(self, text: str, document: dict[str, Any]) -> list[tuple[str, int]]:
        return [self.do(step, document) for step in _STEP.finditer(text)]

    def do(self, step: re.Match[str], document: dict[str, Any]) -> tuple[str, int]:
        operation = document["paths"][step["path"]][step["method"].lower()]
        headers = {"Prefer": step["prefer"]} if step["prefer"] else {}
        if operation["security"] != [{}]:
            headers["Authorization"] = f"Bearer {self.known['key']}"
        asked, body = self._filled(f"{step['path']}{step['query'] or ''}"), self._filled(step["body"] or "")
        self.calls += 1
        answer = self.api.generic(step["method"], asked, body, "application/json", headers=headers)
        found = told(answer) if answer.status_code != 204 else None
        assert answer.status_code < 300, (asked, body, found)
        for name, place in re.findall(r"Keep: `(\w+) = (.+)`", step["keeps"]):
            self.known[name] = _at(found, place)
        return operation["operationId"], answer.status_code

    def _filled(self, text: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda found: self.known[found[1]], text)


def _until_created() -> None:
    """A worker waits for the agent that the program creates."""
    for _ in range(400):
        if Agent.objects.exists():
            return
        time.sleep(0.05)


def _at(answer: Any, place: str) -> str:
    for name in re.findall(r"\w+", place):
        answer = answer[int(name)] if name.isdecimal() else answer[name]
    return str(answer)


@pytest.fixture
def reader(api: APIClient, owner: User, catalog: None, gateway_of: GatewayOf) -> ReaderOfDocuments:
    _, secret = keys.create(owner, name="reader", now=timezone.now())
    return ReaderOfDocuments(api, {"key": secret, "llmProvider": "openai", "llmKey": "sk-a-key-of-the-readers-own"})


def test_two_documents_are_enough_for_the_whole_life(
    reader: ReaderOfDocuments, coins: Chain, gateway_of: GatewayOf
) -> None:
    def come_up() -> None:
        _until_created()
        agent = Agent.objects.get()
        gateway_of(agent)  # first: the program goes on as soon as the agent runs
        settle(agent)

    text, document = reader.read("/llms.txt"), json.loads(reader.read("/openapi.json"))
    worker = soon(come_up)
    done = reader.live(text, document)
    worker.join()
    assert [name for name, _ in done] == [
        *("listPersonas", "listTiers", "createAgent", "updateAgentLlmKey", "chatWithAgent", "explainAgent"),
        *("listAgentEvents", "getSubscriptionQuote", "createCryptoOrder", "deleteAgent"),
    ]
    assert (reader.known["status"], reader.known["orderId"][:4]) == ("running", "cry_")
    assert settle(Agent.objects.get()).status == "deleted"
    assert reader.calls <= MOST_CALLS
