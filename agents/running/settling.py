"""Waiting until an agent has settled: what was asked for has happened, or has failed."""

from __future__ import annotations

from agents.models import UNSETTLED, Agent
from config.shared_looks import SharedLook

LOOK_SECONDS = 0.05  # one statement for all who wait, and none while nobody does


def has_settled(agent_id: str) -> bool:
    return not Agent.objects.filter(UNSETTLED, pk=agent_id).exists()


async def until_settled(agent_id: str, *, seconds: float) -> None:
    """Wait until the agent has settled, `seconds` at most."""
    await _looks.wait(agent_id, seconds=seconds)


def _settled(agent_ids: list[str]) -> dict[str, bool]:
    """Those of these agents that have settled. One whose row is gone has."""
    waiting = set(Agent.objects.filter(UNSETTLED, pk__in=agent_ids).values_list("pk", flat=True))
    return dict.fromkeys(set(agent_ids) - waiting, True)


_looks = SharedLook(_settled, seconds=LOOK_SECONDS)
