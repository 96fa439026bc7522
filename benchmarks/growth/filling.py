"""A platform of any size for the growth of work: the busy platform, with what its periodic jobs look at.

Nothing is due: what is looked at again is due tomorrow, and rows that are too old are already gone. So a due scan finds
nothing, and a sweep finds every pod as it should be.
"""

from __future__ import annotations

from django.db import connection
from django.utils import timezone

from agents.models import Agent
from benchmarks import busy_platform, fleet
from benchmarks.busy_platform import STATUS, BusyTable

TOMORROW = "now() + interval '1 day'"
_RUNNING = "busy WHERE status = 'running'"
_LISTENS = "i %% 6 = 0"  # a sixth of all agents, so half of the paid ones
_COLUMNS = {
    "llm_provider": "'openai'",
    "llm_key_hash": f"CASE WHEN {STATUS} = 'running' THEN md5(i::text) END",
    "channels": f"CASE WHEN {_LISTENS} THEN ARRAY['web', 'telegram'] ELSE ARRAY['web'] END",
}
_FIGURES = dict.fromkeys(("memory_used_bytes", "disk_used_bytes"), "300000000")
_LIMITS = dict.fromkeys(("memory_limit_bytes", "disk_total_bytes"), "1000000000")
MORE: tuple[BusyTable, ...] = (
    ("agents.Spending", _RUNNING, {"agent_id": "agent", "read_at": TOMORROW}),
    (
        "agents.ChannelState",
        f"{_RUNNING} AND i % 6 = 0",
        {"agent_id": "agent", "channel": "'telegram'", "look_at": TOMORROW, "heard_from_at": "now()"},
    ),
    (
        "agents.ModelUsage",
        "busy, generate_series(0, 6) k WHERE status = 'running'",
        {"agent_id": "agent", "day": "current_date - k", "model": "'openai:gpt-5'", "kind": "'chat'", "calls": "9"},
    ),
    (
        "agents.UsageHour",
        "busy, generate_series(1, 24) k WHERE status = 'running'",
        {
            "at": "date_trunc('hour', now()) - k * interval '1 hour'",
            "agent_id": "agent",
            **_FIGURES,
            **_LIMITS,
        },
    ),
)
_PODS = f"""
UPDATE agents_pod SET revision = 1, logs_kept_at = {TOMORROW},
    pod_ip = ('10.' || n / 65536 || '.' || n / 256 % 256 || '.' || n % 256)::inet
FROM (SELECT namespace name, row_number() OVER ()::int n FROM agents_pod) numbered WHERE namespace = name
"""
_OLD = "DELETE FROM webhooks_delivery WHERE finished_at < now() - interval '7 days'"


def fill(agents: int) -> None:
    """Fill an empty database, and let every job have done what it had to do."""
    busy_platform.fill(agents, columns=_COLUMNS, more=MORE)
    # The row from which the others were copied is a new agent, so it is due.
    just_made = Agent.objects.filter(reconcile_at__lte=timezone.now())
    just_made.update(status="stopped", desired="stopped", reconcile_at=None)
    with connection.cursor() as cursor:
        cursor.execute(_PODS)
        cursor.execute(_OLD)
    fleet.analyse()
