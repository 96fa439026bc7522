"""The navigation between the pages of one agent."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from agents.models import Agent
from catalog.engines import engine_of

# By the last part of the URL. The agent's main page has none.
NAMES: dict[str, Promise] = {
    "": _("Overview"),
    "model-key": _("Model and key"),
    "settings": _("Settings"),
    "channels": _("Channels"),
    "tools": _("Tools"),
    "mcp": _("MCP servers"),
    "a2a": _("Other agents"),
    "egress": _("Internet"),
    "domain": _("Domain"),
    "webhook": _("Webhook"),
    "memory": pgettext_lazy("what an agent remembers", "Memory"),
    "backups": _("Backups"),
    "usage": _("Usage"),
    "limits": _("Spending"),
    "replay": _("Replay"),
    "events": _("Events"),
    "log": _("Log"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    href: str
    name: Promise
    is_here: bool


def of(agent: Agent, *, here: str) -> list[Section]:
    """The sections that this agent's engine has. `here` is the path of the present page."""
    engine = engine_of(agent.engine)
    needed = (
        ("model-key", engine.llm_key),
        ("limits", engine.llm_key),
        ("replay", engine.llm_key),
        ("mcp", engine.mcp),
    )
    lacking = {name for name, has in needed if not has}
    return [_section(agent, name, here=here) for name in NAMES if name not in lacking]


def _section(agent: Agent, name: str, *, here: str) -> Section:
    href = f"/account/agents/{agent.pk}" + (f"/{name}" if name else "")
    return Section(href=href, name=NAMES[name], is_here=here == href)
