"""A customer's HTTP client: repeats requests until there is an answer, and records each try."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

CONNECT_SECONDS, READ_SECONDS = 3.0, 60.0
PATIENCE_SECONDS = 180.0
AGAIN_SECONDS = 0.7


class Unanswered(Exception):
    """There was no answer for minutes."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Any
    unsure: bool  # an earlier try got no answer, so the service may have carried it out


@dataclass(slots=True)
class Calls:
    """The journal of all customers: counts in memory, and a file."""

    path: Path
    began: float = field(default_factory=time.monotonic)
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[float, str]] = field(default_factory=list)  # pairs: second, sentence
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, account: str, method: str, path: str, outcome: str, *, sent: float) -> None:
        second = sent - self.began
        line = {"second": round(second, 2), "account": account, "method": method, "path": path, "outcome": outcome}
        with self._lock, self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line | {"took": round(time.monotonic() - sent, 3)}) + "\n")
            self.outcomes[outcome.partition(" ")[0]] += 1
            if outcome[0] not in "234" or outcome.startswith("429"):
                self.failures.append((second, f"{method} {path}: {outcome}"))


class CustomerClient:
    def __init__(self, base: str, account: str, calls: Calls, *, address: str) -> None:
        self.account = account
        self.token = ""
        self._base = base
        self._calls = calls
        self._address = address

    def ask(
        self, method: str, path: str, body: Any = None, *, key: str = "", patience: float = PATIENCE_SECONDS
    ) -> Answer:
        """Repeat the request until there is a final answer: no broken connection, no 5xx, and no "try again"."""
        until = time.monotonic() + patience
        unsure = False
        while True:
            answer = self._try(method, path, body, key)
            if answer is not None and not _is_again(answer):
                return Answer(answer.status_code, answer.json() if answer.content else None, unsure)
            unsure = unsure or answer is None or answer.status_code >= 500
            if time.monotonic() > until:
                raise Unanswered(f"{method} {path} had no answer for {patience:.0f} s")
            time.sleep(AGAIN_SECONDS)

    def _try(self, method: str, path: str, body: Any, key: str) -> requests.Response | None:
        headers = {"X-Forwarded-For": self._address}
        headers |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        headers |= {"Idempotency-Key": key} if key else {}
        sent, outcome = time.monotonic(), ""
        try:
            answer = requests.request(
                method, self._base + path, json=body, headers=headers, timeout=(CONNECT_SECONDS, READ_SECONDS)
            )
            outcome = f"{answer.status_code}" + (f" {answer.text[:200]}" if answer.status_code >= 400 else "")
        except requests.RequestException as error:
            answer, outcome = None, f"broken {type(error).__name__}"
        self._calls.note(self.account, method, path, outcome, sent=sent)
        return answer


def _is_again(answer: requests.Response) -> bool:
    """Whether to repeat: a temporary fault, a limit, or the same create request that still runs."""
    still_running = answer.status_code == 409 and answer.json().get("message", "").startswith("Idempotency-Key")
    return answer.status_code >= 500 or answer.status_code == 429 or still_running
