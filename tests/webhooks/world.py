"""The world of the cases: the API, DNS, the internet, and a clock that moves to the next retry."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import sessions
from accounts.models import User
from agents.models import Agent
from tests.doubles.certificates import Certificates
from tests.doubles.internet import Internet
from tests.doubles.name_server import NameServer
from tests.doubles.receiver import Receiver
from tests.webhooks.conftest import HookClock, agent_of, emit
from webhooks import delivery_loop
from webhooks.models import Event

PUBLIC = "8.8.8.8"
NAME = "moves.example"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The owner's view of a finished delivery, and the addresses that were dialled for it."""

    state: str
    status: int | None
    error: str | None
    shown: str  # the agent's webhookLastStatus
    dialled: list[str]


REFUSED = Outcome("failed", None, "address refused", "error: address refused", [])


def arrived(*dialled: str) -> Outcome:
    return Outcome("delivered", 204, None, "204", list(dialled))


@dataclass
class HookWorld:
    client: APIClient
    names: NameServer
    internet: Internet
    receiver: Receiver
    settings: Any
    certificates: Certificates
    monkeypatch: pytest.MonkeyPatch
    owner: User = field(default_factory=lambda: User.objects.create_user(f"{secrets.token_hex(6)}@example.com"))
    clock: HookClock = field(default_factory=HookClock)

    def __post_init__(self) -> None:
        session = sessions.start(self.owner, attribution=None, now=timezone.now())[1]
        self.client.credentials(HTTP_AUTHORIZATION=f"Bearer {session}")

    def put(self, url: str, agent: Agent | None = None) -> tuple[int, Any]:
        """`PUT /agents/{id}/webhook`. Returns the status and the body."""
        agent = agent or agent_of(self.owner)
        answer = self.client.put(f"/agents/{agent.pk}/webhook", {"url": url}, format="json")
        return answer.status_code, answer.json()

    def refuses(self, url: str) -> None:
        status, body = self.put(url)
        assert (status, body["error"]) == (400, "BAD_REQUEST"), url
        assert body["message"].startswith("url: "), body["message"]

    def takes(self, url: str) -> Agent:
        """An agent whose events go to this URL; the API must accept it."""
        agent = agent_of(self.owner)
        status, body = self.put(url, agent)
        assert status == 200, f"{url!r}: {body}"
        return agent

    def send(self, agent: Agent) -> Outcome:
        """Send an event of the agent, with all attempts. Returns the outcome."""
        (outcome,) = self.send_all(agent)
        return outcome

    def send_all(self, *agents: Agent) -> list[Outcome]:
        """Send an event of each agent at the same time. The outcomes do not say which agent dialled which address."""
        self.internet.leads_to(self.receiver.port)
        events = [emit(agent, now=self.clock.now) for agent in agents]
        for wait in (10, 60, 0):
            if not delivery_loop.drain(clock=self.clock, ahead=timedelta(0)):
                break
            self.clock.forward(wait)
        return [self._outcome(agent, event) for agent, event in zip(agents, events, strict=True)]

    def _outcome(self, agent: Agent, event: Event) -> Outcome:
        lines = self.client.get(f"/agents/{agent.pk}/webhook/deliveries").json()["deliveries"]
        (line,) = (one for one in lines if one["id"] == event.pk)
        shown = self.client.get(f"/agents/{agent.pk}").json()["agent"]["webhookLastStatus"]
        return Outcome(line["state"], line["status"], line["error"], shown, self.internet.dialled)

    def moved(self, *addresses: str) -> Agent:
        """An agent whose receiver's name had a public address when it was set, and now has these addresses."""
        self.names.answers(NAME, [PUBLIC])
        agent = self.takes(f"http://{NAME}/hook")
        self.names.answers(NAME, list(addresses))
        return agent

    def allow(self, *networks: Any) -> None:
        self.settings.WEBHOOK_ALLOWED_CIDRS = list(networks)
