"""The evidence for an audit, collected at one time: rows, processes, files, ports, promises and receipts."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from django.utils import timezone

from accounts.models import IdempotentReply
from agents.models import Agent, Transition
from tests.crash import machine_state
from tests.crash.machine_state import Disk, SeenProcess
from tests.crash.promises import Promise
from tests.doubles.receiver import ReceivedHook
from webhooks.models import Delivery, Event

# The columns of an agent without its secrets, which the auditor cannot decrypt.
AGENT = (
    "id", "status", "desired", "suffix", "generation", "spec_revision", "deadline_at", "reconcile_at", "lease_until",
    "cause", "cause_message", "endpoint_url",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    now: datetime
    agents: dict[str, Agent]
    timelines: dict[str, list[Transition]]
    events: dict[str, list[Event]]  # by agent, oldest first
    deliveries: dict[str, Delivery]  # by event
    reservations: list[IdempotentReply]  # requests that were never answered
    processes: list[SeenProcess]
    disk: Disk
    listening: set[int]
    reports: dict[str, list[int | None]]  # by namespace: the revisions that bridge and gateway report
    promises: list[Promise]
    receipts: list[ReceivedHook] = field(repr=False)


def gather(home: Path, *, promises: Iterable[Promise] = (), receipts: Iterable[ReceivedHook] = ()) -> Evidence:
    """Read receipts first, and rows before processes: everything found later was caused by something found earlier."""
    received, files = list(receipts), machine_state.disk(home)
    return Evidence(
        now=timezone.now(),
        agents={agent.pk: agent for agent in Agent.objects.only(*AGENT)},
        timelines=_by_agent(Transition.objects.order_by("at", "id")),
        events=_by_agent(Event.objects.order_by("created_at", "id")),
        deliveries={delivery.pk: delivery for delivery in Delivery.objects.all()},
        reservations=list(IdempotentReply.objects.filter(status=None).defer("reply")),
        processes=machine_state.pod_processes(home),
        disk=files,
        listening=machine_state.listening_ports(),
        reports={namespace: _revisions(home / "pods" / namespace) for namespace in files.records},
        promises=list(promises),
        receipts=received,
    )


def _by_agent(rows: Iterable[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        found[row.agent_id].append(row)
    return found


def _revisions(run_dir: Path) -> list[int | None]:
    bodies = (_json(run_dir / name) for name in ("state.json", "gateway.json"))
    return [body.get("revision") for body in bodies]


def _json(path: Path) -> dict[str, Any]:
    try:
        body = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return body if isinstance(body, dict) else {}


def all_events(evidence: Evidence) -> Iterable[Event]:
    return chain.from_iterable(evidence.events.values())
