"""Sets of words that parameters of the API take."""

from __future__ import annotations

from typing import Literal

AgentStatus = Literal["provisioning", "running", "stopped", "failed"]
LogSource = Literal["engine", "bridge", "gateway"]
