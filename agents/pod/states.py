"""Why an agent's page has nobody to talk to: the router and the gateway say it in a header, the chat page in words."""

from __future__ import annotations

from enum import StrEnum

STATE_HEADER = "Agent-State"


class AgentState(StrEnum):
    STARTING = "starting"
    RESTARTING = "restarting"  # the engine was there; its bridge starts it again
    FAILING = "failing"  # the engine ends again and again
    FAILED = "failed"
    STOPPED = "stopped"
    GONE = "gone"
