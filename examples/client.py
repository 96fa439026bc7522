"""A small client of the API that checks each answer."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import requests

WAIT_SECONDS = 130  # seconds; chat and webhook tests wait for another server
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
    """The service does not behave as its documentation says."""


class NotPrepared(Exception):
    """The service works, but its settings do not let it reach this demo's servers."""


def expect(truth: object, otherwise: str) -> None:
    if not truth:
        raise Wrong(otherwise)


class Client:
    """JSON over HTTP with a bearer token."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.token = ""

    def ask(self, method: str, path: str, body: Any = None, *, status: int = 200, token: str | None = None) -> Any:
        """Send a request and return the parsed answer. Raises Wrong for any other status."""
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
    """Yield every `pause` seconds until `seconds` have passed."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        yield
        time.sleep(pause)
