"""The headers by which a receiver recognises our events (docs/spec.md: Request to the receiver)."""

from __future__ import annotations

import hashlib
import hmac

USER_AGENT = "Service-Webhooks/1.0"


def headers(*, event_id: str, event_type: str, body: bytes, secret: str, previous_secret: str | None) -> dict[str, str]:
    """The headers, signed over exactly the bytes that are sent.

    For a day after a rotation the previous secret signs too.
    """
    signed = {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        "X-Service-Event": event_type,
        "X-Service-Delivery": event_id,
        "X-Service-Signature": signature(body, secret),
    }
    if previous_secret is not None:
        signed["X-Service-Signature-Previous"] = signature(body, previous_secret)
    return signed


def signature(body: bytes, secret: str) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
