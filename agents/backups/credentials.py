"""What opens one agent's repository at the endpoint for some hours: signed, so that the endpoint asks no database.

A pod gets a new one with each backup. Whoever holds it reads that repository, and adds to it if it says so.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from django.core import signing

LIFE_SECONDS = 6 * 3600
_SALT = "agents.backups"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    nonce: str  # what was written is counted by it
    agent_id: str
    may_add: int  # bytes; 0 = it reads alone


def mint(agent_id: str, *, may_add: int = 0) -> str:
    return signing.dumps([secrets.token_hex(8), agent_id, may_add], salt=_SALT)


def read(text: str) -> Credential | None:
    """None for what we did not sign, or no longer stand by."""
    try:
        nonce, agent_id, may_add = signing.loads(text, salt=_SALT, max_age=LIFE_SECONDS)
    except (signing.BadSignature, ValueError):
        return None
    return Credential(nonce=nonce, agent_id=agent_id, may_add=may_add)
