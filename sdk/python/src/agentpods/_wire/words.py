"""Sets of words that parameters of the API take."""

from __future__ import annotations

from typing import Literal

AgentStatus = Literal["provisioning", "running", "stopped", "failed"]
ReplayKind = Literal["turn.began", "model.call", "tool.call", "turn.ended", "turn.failed", "not.kept"]
LogSource = Literal["engine", "bridge", "gateway"]
