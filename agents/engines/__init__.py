"""The engines that an agent can run on. Each engine has a module that describes it mostly as data
(agents/engines/base.py).
"""

from __future__ import annotations

from agents.engines.base import Engine
from agents.engines.claude_code import CLAUDE_CODE
from agents.engines.dashboard import Dashboard
from agents.engines.hermes import HERMES
from agents.engines.hermes_dashboard import DASHBOARD as HERMES_DASHBOARD
from agents.engines.n8n import N8N
from agents.engines.n8n_dashboard import DASHBOARD as N8N_DASHBOARD
from agents.engines.openclaw import OPENCLAW
from agents.engines.openclaw_dashboard import DASHBOARD as OPENCLAW_DASHBOARD
from agents.engines.opencode import OPENCODE
from agents.engines.opencode_dashboard import DASHBOARD as OPENCODE_DASHBOARD
from agents.engines.packages import installed
from agents.engines.pi import PI

ENGINES: dict[str, Engine] = {
    PI.id: PI,
    HERMES.id: HERMES,
    OPENCODE.id: OPENCODE,
    CLAUDE_CODE.id: CLAUDE_CODE,
    OPENCLAW.id: OPENCLAW,
    N8N.id: N8N,
}
# Engines with an own page, in addition to the gateway's page.
DASHBOARDS: dict[str, Dashboard] = {
    HERMES.id: HERMES_DASHBOARD,
    OPENCODE.id: OPENCODE_DASHBOARD,
    OPENCLAW.id: OPENCLAW_DASHBOARD,
    N8N.id: N8N_DASHBOARD,
}

# Engines of third parties.
PACKAGES = installed(ours=ENGINES)
ENGINES |= {engine_id: package.engine for engine_id, package in PACKAGES.items()}
DASHBOARDS |= {engine_id: package.dashboard for engine_id, package in PACKAGES.items() if package.dashboard}
