"""hermes' own pages: a server beside the engine without a login of its own, configured to run below a path prefix."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agents.engines.dashboard import Fetch

_READS = {"GET", "HEAD"}
# What the agent has learned, and what it does by itself. Configuration, keys and channels are changed in the console.
_WRITES = re.compile(
    r"/api/(sessions(/.*)?|cron/(jobs|blueprints)(/.*)?|skills|skills/(content|toggle)|learning/node|memory/reset"
    r"|dashboard/(font|theme))"
)
# Terminal and files are toolsets, so the page must not have them.
_NEVER = re.compile(r"/api/(console|credentials|env|events|files|fs|git|media|ops|pty|pub|ws)(/.*)?")


class HermesDashboard:
    beside = True
    # The page contains an inline script with a new token each time, so inline scripts must be allowed.
    policy: str | None = (
        "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
        "font-src 'self' data:; img-src 'self' data: blob:"
    )
    prefix = "/dashboard"
    sockets: re.Pattern[str] | None = None
    public: re.Pattern[str] | None = None

    def headers(self, password: str) -> Mapping[str, str]:
        return {"X-Forwarded-Prefix": self.prefix}

    def refuses(self, method: str, path: str) -> str | None:
        inside = path.removeprefix(self.prefix)
        if _NEVER.fullmatch(inside):
            return "the agent's page has no terminal, files and keys"
        if method not in _READS and not _WRITES.fullmatch(inside):
            return "this is changed in your account"
        return None

    async def entry(self, fetch: Fetch) -> str:
        return f"{self.prefix}/sessions"


DASHBOARD = HermesDashboard()
