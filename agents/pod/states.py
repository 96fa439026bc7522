"""Why nobody answers on an agent's page. The router and the gateway send the reason in a header, and the chat page
shows it as text.
"""

from enum import StrEnum

STATE_HEADER = "Agent-State"


class AgentState(StrEnum):
    STARTING = "starting"
    RESTARTING = "restarting"  # the engine was running before, and the bridge starts it again
    FAILING = "failing"  # the engine fails again and again
    FAILED = "failed"
    STOPPED = "stopped"
    GONE = "gone"
