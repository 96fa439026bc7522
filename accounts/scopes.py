"""Which API calls a key may make. A full key may make all calls that a key can make; a limited key has scopes.

This is the only place that says which scope a call needs. `accounts/authentication.py` asks it for every request with a
credential, so a view cannot forget it. A call that the tables do not know takes full keys alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Scope(StrEnum):
    """What a limited key may do. Each scope also lets it read."""

    READ = "read"
    OPERATE = "operate"
    PAY = "pay"


class Need(StrEnum):
    """The least that a call needs."""

    READ = "read"
    OPERATE = "operate"
    PAY = "pay"
    FULL = "full"  # a full key, or a session
    SESSION = "session"  # a person who has signed in


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialLimits:
    """What a limited credential may do. `agent_id` is the only agent that it may see, or None for all of them."""

    scopes: frozenset[Scope]
    agent_id: str | None

    def may(self, need: Need) -> bool:
        return bool(self.scopes) if need == Need.READ else need.value in self.scopes


# The need of calls that change something, by the first word of their path. /mcp and
# /oauth/mcp call the API for their caller, and are asked there again.
_CHANGES = {
    "agents": Need.OPERATE,
    "personas": Need.OPERATE,
    "mcp": Need.READ,
    "oauth": Need.READ,
    "subscriptions": Need.PAY,
    "crypto": Need.PAY,
    "stars": Need.PAY,
    "stripe": Need.PAY,
    "auth": Need.SESSION,
    "keys": Need.SESSION,
}
_READS = {*_CHANGES, "billing-details", "domain-check", "events", "invoices", "me"} - {"auth"}
_EXCEPTIONS = {
    ("GET", "agents/<str:id>/backups/<str:name>"): Need.OPERATE,  # it holds what is on the disk, secrets too
    ("PUT", "agents/<str:id>/limits"): Need.FULL,  # an agent must not lift the limit of what it may spend
    ("PUT", "agents/<str:id>/replay"): Need.FULL,  # nor switch off what shows its owner what it did
    # An agent must not let itself reach more hosts, nor have a secret sent elsewhere.
    ("PUT", "agents/<str:id>/egress"): Need.FULL,
    ("PUT", "agents/<str:id>/egress/secrets/<str:name>"): Need.FULL,
    ("DELETE", "agents/<str:id>/egress/secrets/<str:name>"): Need.FULL,
    ("POST", "stripe/portal"): Need.FULL,  # its page changes the card of the whole account
}

# The calls that a key for one agent may make. All of them show or change this agent alone.
_OF_ONE_AGENT = (
    "agents/<str:id>",
    "crypto",
    "domain-check",
    "events",
    "keys",
    "mcp",
    "oauth/mcp",
    "stars",
    "stripe/orders",
    "subscriptions",
)
_OF_ONE_AGENT_TOO = {("GET", "agents"), ("GET", "me")}


def need_of(method: str, route: str) -> Need:
    """What this call needs. `route` is its path as in the URL conf, such as `agents/<str:id>/pause`."""
    method = "GET" if method == "HEAD" else method
    first = route.split("/", 1)[0]
    if (method, route) in _EXCEPTIONS:
        return _EXCEPTIONS[method, route]
    if method == "GET":
        return Need.READ if first in _READS else Need.FULL
    return _CHANGES.get(first, Need.FULL)


def is_of_one_agent(method: str, route: str) -> bool:
    """Whether a key for one agent may make this call, about that agent."""
    below = any(f"{route}/".startswith(f"{words}/") for words in _OF_ONE_AGENT)
    return below or ("GET" if method == "HEAD" else method, route) in _OF_ONE_AGENT_TOO
