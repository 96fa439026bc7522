"""Engines that an agent can run on: one module each, data first (agents/engines/base.py)."""

from __future__ import annotations

from agents.engines.base import Engine
from agents.engines.hermes import HERMES
from agents.engines.opencode import OPENCODE
from agents.engines.pi import PI

ENGINES: dict[str, Engine] = {PI.id: PI, HERMES.id: HERMES, OPENCODE.id: OPENCODE}
