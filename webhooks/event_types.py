"""The types of events (docs/spec.md: Event types). This is their only list: add a type here."""

from __future__ import annotations

from typing import Any

from django.db import models


class EventType(models.TextChoices):
    """At most 20 characters each, which is the width of the column."""

    AGENT_RUNNING = "agent.running"
    AGENT_STOPPED = "agent.stopped"
    AGENT_FAILED = "agent.failed"
    AGENT_DELETED = "agent.deleted"
    PAYMENT_CONFIRMED = "payment.confirmed"
    DELETION_WARNING = "deletion.warning"
    TEST = "test"


class LoggedType(models.TextChoices):
    """Types that are only in the logs, `GET /agents/{id}/events` and `GET /events`. They are never sent."""

    LIMIT_NEAR = "limit.near"
    LIMIT_REACHED = "limit.reached"
    REPLAY_SWITCHED = "replay.switched"
    REPLAY_DELETED = "replay.deleted"


# type: (when it is sent, an example of its data), for `/openapi.json`
EVENTS: dict[EventType, tuple[str, dict[str, Any]]] = {
    EventType.AGENT_RUNNING: (
        "The pod came up: after create, resume, rebuild or recovery.",
        {"from": "provisioning", "to": "running"},
    ),
    EventType.AGENT_STOPPED: (
        "The pod was stopped; `reason` is owner, operator, trial, payment, quota or suspended.",
        {"from": "running", "to": "stopped", "reason": "owner"},
    ),
    EventType.AGENT_FAILED: (
        "A build or rebuild did not come up; rebuild again.",
        {"from": "provisioning", "to": "failed"},
    ),
    EventType.AGENT_DELETED: ("The pod and its data are gone.", {"from": "stopped", "to": "deleted"}),
    EventType.PAYMENT_CONFIRMED: (
        "A payment activated a subscription.",
        {
            "subscriptionId": "sub_71d0c3f98ab24e6650b1d2f7",
            "provider": "usdc",
            "tier": "small",
            "period": "monthly",
            "paidTill": "2026-12-21T06:30:00Z",
        },
    ),
    EventType.DELETION_WARNING: (
        "3, 2 and 1 days before an unpaid pod is stopped, and once when it stops (then `daysLeft` is null).",
        {"daysLeft": 3, "keptDays": 14},
    ),
    EventType.TEST: ("Asked for with `POST /agents/{id}/webhook/test`.", {"note": "a test event"}),
}
