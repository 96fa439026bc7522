"""LogLines of the log say which request, account, agent and trace they are about."""

from __future__ import annotations

import io
import json
import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest
from celery import current_app
from rest_framework.test import APIClient

from accounts.models import User
from agents.models import Agent
from config import log_context
from config.redis import client as redis_client
from config.requests import JsonFormatter
from tests.agents.conftest import signed_in
from tests.patience import Patience
from tests.workers import Workers

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
BEGUN = f"00-{TRACE}-00f067aa0ba902b7-01"
AGENT = "agt_0123456789abcdef01234567"
# A production that could start (Makefile), for a worker on the test's own stores.
PRODUCTION = {
    "AGENTPODS_ENV": "production",
    "AGENT_RUNTIME": "kubernetes",
    "BASE_URL": "https://console.example.com",
    "POD_IMAGE": "images.example.com/agentpods",
    "ENGINE_IMAGES": "pi=images.example.com/pi",
    "SECRET_KEY": "of-a-test-" * 6,
    "SECRETS_KEYS": "Y2hlY2stb25seS1jaGVjay1vbmx5LWNoZWNrLTEyMzQ=",
    "PLATFORM_DOMAIN": "pods.example.net",
    "BACKUP_STORE": "off",
}


class LogLines:
    def __init__(self) -> None:
        self._written = io.StringIO()
        self.handler = logging.StreamHandler(self._written)
        self.handler.setFormatter(JsonFormatter())

    def of(self, logger: str) -> list[dict[str, Any]]:
        told = [json.loads(line) for line in self._written.getvalue().splitlines()]
        return [line for line in told if line["name"] == logger]


@pytest.fixture
def lines() -> Iterator[LogLines]:
    """What production would log."""
    found = LogLines()
    logging.getLogger().addHandler(found.handler)
    yield found
    logging.getLogger().removeHandler(found.handler)


def test_a_refusal_is_logged_with_request_account_agent_and_trace(
    owner: User, make_agent: Any, lines: LogLines
) -> None:
    agent: Agent = make_agent()
    body = {"message": " "}
    refused = signed_in(owner).post(f"/agents/{agent.pk}/chat", body, format="json", headers={"traceparent": BEGUN})
    assert refused.status_code == 400
    (line,) = lines.of("django.request")
    known = {name: line[name] for name in ("requestId", "traceId", "accountId", "agentId")}
    assert known == {
        "requestId": refused["Request-Id"],
        "traceId": TRACE,
        "accountId": owner.pk,
        "agentId": agent.pk,
    }
    assert log_context.ids() == {}, "the next line of this thread is about something else"


@pytest.mark.django_db
@pytest.mark.parametrize("header", ["", "x", f"00-{'0' * 32}-00f067aa0ba902b7-01", f"00-{TRACE}\n-1-1", "a" * 10_000])
def test_a_trace_is_new_where_no_valid_one_comes(api: APIClient, lines: LogLines, header: str) -> None:
    api.get("/me", headers={"traceparent": header})
    (line,) = lines.of("django.request")
    assert line["traceId"] != TRACE
    assert len(line["traceId"]) == 32
    assert "accountId" not in line


def test_a_task_carries_only_the_request_and_its_trace() -> None:
    with log_context.about(requestId="req_1", traceId=TRACE, accountId="usr_1", agentId=AGENT):
        current_app.send_task("agents.reconcile", args=(AGENT,), queue="nobody")
    (message,) = redis_client().lrange("nobody", 0, -1)
    assert json.loads(message)["headers"]["about"] == {"requestId": "req_1", "traceId": TRACE}


@pytest.mark.unmeasured
@pytest.mark.django_db(transaction=True)
def test_a_workers_lines_lead_back_to_the_request(celery: Workers) -> None:
    celery.start("default", environment=PRODUCTION)
    with log_context.about(requestId="req_1", traceId=TRACE):
        current_app.send_task("agents.reconcile", args=(AGENT,), queue="default")
    patience = Patience(30)
    while "succeeded" not in celery.log() and not patience.ended():
        time.sleep(0.05)
    written = [json.loads(line) for line in celery.log().splitlines() if line.startswith("{")]  # Celery warns of root
    (line,) = [one for one in written if "succeeded" in one["message"]]
    known = {name: line[name] for name in ("requestId", "traceId", "agentId", "task")}
    assert known == {"requestId": "req_1", "traceId": TRACE, "agentId": AGENT, "task": "agents.reconcile"}
