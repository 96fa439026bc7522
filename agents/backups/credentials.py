"""The credential that opens one agent's repository at the endpoint for some hours. It is signed, so the endpoint needs
no database.

A pod gets a new credential with each backup. Its holder can read that repository, and add to it if `may_add` says so.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from django.core import signing

LIFE_SECONDS = 6 * 3600
_SALT = "agents.backups"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    nonce: str  # the endpoint counts the written bytes by this
    agent_id: str
    may_add: int  # bytes; 0 = only reading


def mint(agent_id: str, *, may_add: int = 0) -> str:
    return signing.dumps([secrets.token_hex(8), agent_id, may_add], salt=_SALT)


def read(text: str) -> Credential | None:
    """The credential of this text. None when we did not sign the text, or when it is too old."""
    try:
        nonce, agent_id, may_add = signing.loads(text, salt=_SALT, max_age=LIFE_SECONDS)
    except (signing.BadSignature, ValueError):
        return None
    return Credential(nonce=nonce, agent_id=agent_id, may_add=may_add)
