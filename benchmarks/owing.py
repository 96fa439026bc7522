"""Webhook receivers, and agents whose deliveries to them are due."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.utils import timezone

from agents import creation
from agents.models import Agent
from benchmarks import customers, processes
from benchmarks.processes import Program
from benchmarks.receivers import host
from benchmarks.second_start import free_port
from config.ids import new_id
from tests.doubles.certificates import Certificates
from webhooks.event_types import EventType
from webhooks.models import Delivery, Event, Hook

PATIENCE_SECONDS = 180
BODY = '{"id":"evt","type":"agent.running","agent":{},"data":{"from":"provisioning","to":"running"}}'.ljust(600)


@dataclass(frozen=True)
class Receivers:
    urls: list[str]
    log: Path

    def count(self) -> int:
        return self.log.read_bytes().count(b"\n")

    def got(self) -> list[tuple[str, float]]:
        """Event ids and the times of their arrival, including duplicates."""
        lines = [line.split() for line in self.log.read_text(encoding="ascii").splitlines()]
        return [(line[0], float(line[1])) for line in lines if len(line) == 2]


@contextmanager
def receivers(hosts: int, *, dead: int = 0, made: Certificates | None = None, delay_ms: int = 0) -> Iterator[Receivers]:
    port, log = free_port(), Path(os.environ["AGENTPODS_HOME"], f"receivers-{time.time_ns()}")
    arguments = [str(port), str(log), str(hosts), str(dead), *([str(made.served)] if made else [])]
    with processes.started("benchmarks.receivers", *arguments, environment={"DELAY_MS": str(delay_ms)}):
        wait(log.exists)
        scheme = "https" if made else "http"
        yield Receivers([f"{scheme}://{host(number)}:{port}/hook" for number in range(hosts)], log)


def worker(*arguments: str, **environment: str) -> AbstractContextManager[Program]:
    return processes.worker("webhooks", *arguments, WEBHOOK_ALLOWED_CIDRS="127.0.0.0/8", **environment)


def agents(count: int) -> list[Agent]:
    owner = customers.one().user
    wanted = creation.NewAgent(persona_id="exam-coach", tier="small", webhook_url="https://hooks.example.com/agents")
    return [creation.create(owner, wanted, actor="benchmark")[0] for _ in range(count)]


def owe(agents: list[Agent], receivers: Receivers, *, each: int) -> set[str]:
    """Replace all deliveries by `each` due deliveries per agent.

    The agents use these receivers in turn. Return the event ids.
    """
    Event.objects.all().delete()
    for number, agent in enumerate(agents):
        url = receivers.urls[number % len(receivers.urls)]
        authority = url.split("/")[2]
        Hook.objects.filter(agent=agent).update(url=url, authority=authority, slow=False, last_at=None)
    now = timezone.now()
    owed = [
        Event(id=new_id("evt"), agent=agent, type=EventType.AGENT_RUNNING, body=BODY, created_at=now)
        for _ in range(each)
        for agent in agents
    ]
    Event.objects.bulk_create(owed)
    due = [Delivery(event=event, agent=event.agent, next_attempt_at=now, created_at=now) for event in owed]
    Delivery.objects.bulk_create(due)
    return {event.pk for event in owed}


def wait(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        if time.monotonic() > deadline:
            raise RuntimeError("what the benchmark waits for does not happen")
        time.sleep(0.02)


def all_done() -> bool:
    return not Delivery.objects.pending().exists()
