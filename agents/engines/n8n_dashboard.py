"""n8n's own editor, at the root of the pod's address. The owner builds workflows there, in addition to the agent's
workflow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from agents.engines.dashboard import Fetch
from agents.engines.n8n_http import HEADER
from agents.engines.n8n_workflow import AGENT_ID

_READS = {"GET", "HEAD"}
# What the owner may change there. Users, keys, licence and settings are not among it, because this n8n belongs to the
# agent.
_WRITES = re.compile(
    r"/(rest/(active-workflows|binary-data|credentials|cta|data-tables-global|dynamic-node-parameters|dynamic-templates"
    r"|events|executions|expressions|favorites|folders|logger|node-types|nodes-list|options|parameters|projects"
    r"|pinned-data|push|tags|telemetry|variables|workflows|workflow-dependencies|workflow-history|workflow-stats)(/.*)?"
    r"|rest/me/settings|rest/data-tables(/.*)?|webhook-test/.*|form-test/.*|types/.*)"
)
# The agent's own workflow and its credentials, which are rendered from the configuration.
_OURS = re.compile(rf"/rest/(workflows|credentials)/{AGENT_ID}[^/]*(/.*)?", re.IGNORECASE)
_RUNS = re.compile(rf"/rest/workflows/{AGENT_ID}/run", re.IGNORECASE)
_NEVER = re.compile(r"/(agentpods|api)(/.*)?", re.IGNORECASE)


class N8nDashboard:
    beside = False
    # The page contains inline scripts and evaluates expressions. With a script in a `data:` address it checks whether
    # the browser is a modern one; if that fails, it loads its many more files for old browsers.
    policy: str | None = (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data:; worker-src 'self' blob:; "
        "style-src 'self' 'unsafe-inline'; font-src 'self' data:; img-src 'self' data: blob:"
    )
    prefix = ""
    sockets: re.Pattern[str] | None = None
    # Webhooks and forms of published workflows. Each does its own check of the caller. The agent's own webhook is left
    # out, because it may only be called through the gateway (n8n_parts/agent.cjs).
    public: re.Pattern[str] | None = re.compile(
        rf"/(webhook|webhook-waiting|form|form-waiting|mcp)/(?!{AGENT_ID}(/|\Z)).+"
    )

    def headers(self, password: str) -> Mapping[str, str]:
        """The password tells n8n that the visitor is its owner. Its live view needs an Origin header that matches its
        own address.
        """
        host = "agent.invalid"
        return {HEADER: password, "Origin": f"http://{host}", "X-Forwarded-Host": host, "X-Forwarded-Proto": "http"}

    def refuses(self, method: str, path: str) -> str | None:
        if _NEVER.fullmatch(path):
            return "the agent is spoken to through its own interface"
        if method in _READS:
            return None
        if _OURS.fullmatch(path) and not _RUNS.fullmatch(path):
            return "this is the agent itself; it is changed in your account"
        if not _WRITES.fullmatch(path):
            return "this is changed in your account"
        return None

    async def entry(self, fetch: Fetch) -> str:
        return "/home/workflows"


DASHBOARD = N8nDashboard()
