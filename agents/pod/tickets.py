"""Ticket links: the console makes a ticket, and the pod's gateway accepts it once. Both sides use this module, so it
must not import Django.
A ticket is `<expires>.<nonce>.<mac>`: Unix seconds, random text, and an HMAC-SHA256 with the pod's ticket key over the
pod's namespace and the two values. So a ticket opens one pod, once, within one minute.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import datetime

LIFETIME_SECONDS = 60
_NONCE_BYTES = 16
_SHAPE = re.compile(r"(\d{1,12})\.([A-Za-z0-9_-]{16,64})\.([A-Za-z0-9_-]{43})")


class InvalidTicket(Exception):
    """The ticket is forged, damaged, too old, or made for another pod. The reason is not revealed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    nonce: str
    expires: int  # Unix seconds

    @property
    def minted(self) -> int:
        return self.expires - LIFETIME_SECONDS


def mint(ticket_key: str, namespace: str, now: datetime) -> str:
    """A ticket for the page of the pod `namespace`, valid for LIFETIME_SECONDS from `now` (a datetime
    with timezone).
    """
    expires = int(now.timestamp()) + LIFETIME_SECONDS
    nonce = secrets.token_urlsafe(_NONCE_BYTES)
    return f"{expires}.{nonce}.{_mac(ticket_key, namespace, expires, nonce)}"


def read(ticket_key: str, namespace: str, text: str, now: datetime) -> Ticket:
    """The ticket in `text`, if it was made with this pod's key and has not expired. Raises InvalidTicket. The caller
    must remember the nonce.
    """
    found = _SHAPE.fullmatch(text)
    if found is None:
        raise InvalidTicket
    expires, nonce, mac = int(found[1]), found[2], found[3]
    if not hmac.compare_digest(mac, _mac(ticket_key, namespace, expires, nonce)):
        raise InvalidTicket
    if expires <= now.timestamp():
        raise InvalidTicket
    return Ticket(nonce=nonce, expires=expires)


def _mac(ticket_key: str, namespace: str, expires: int, nonce: str) -> str:
    text = f"agentpods ticket 1\n{namespace}\n{expires}\n{nonce}"
    digest = hmac.new(ticket_key.encode(), text.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
