"""A small client of the interface that believes nothing it has not checked."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import requests

WAIT_SECONDS = 130  # chat and webhook tests wait for somebody else
SETTLE_SECONDS = 180

AGENT_FIELDS = set(
    re.findall(
        r"\w+",
        """id userId personaId name tier channels createdAt status dseq endpointUrl llmKeyHash dashUsername dashPassword
        quotaStatus quota lang domain tools llmProvider lastBackupAt model engine timezone a2aToken a2aUrl extraSoul
        a2aPeers a2aSlug trialNoticeDay telegramTokenEnc a2aListed""",
    )
)
WEBHOOK_FIELDS = {"webhookUrl", "webhookLastStatus", "webhookLastAt", "webhookLastEvent"}


class Wrong(Exception):
    """Something is not as the interface says."""


class NotPrepared(Exception):
    """The service works, but was not started so that it can reach this demo's servers."""


def expect(truth: object, otherwise: str) -> None:
    if not truth:
        raise Wrong(otherwise)


class Client:
    """JSON over HTTP with a bearer."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.token = ""

    def ask(self, method: str, path: str, body: Any = None, *, status: int = 200, token: str | None = None) -> Any:
        """The parsed answer. Raises Wrong for any other status."""
        bearer = self.token if token is None else token
        headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
        answer = requests.request(method, self.base + path, json=body, headers=headers, timeout=WAIT_SECONDS)
        expect(
            answer.status_code == status, f"{method} {path}: {answer.status_code} instead of {status}: {answer.text}"
        )
        if status >= 400:
            expect(set(answer.json()) == {"error", "message"}, f"{method} {path}: not an error body: {answer.text}")
        return answer.json() if answer.content else None


def every(pause: float, seconds: float) -> Iterator[None]:
    """Turns until the time is up."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        yield
        time.sleep(pause)
