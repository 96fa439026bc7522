"""Checks that an event really comes from the service, before anything acts on it.

    event = webhooks.verified(body, headers, secret=secret)

`body` is the raw body: JSON that was read and written again has another signature. Deliveries come at least once, so
act on each `event["id"]` once, and answer any 2xx within ten seconds.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from typing import cast

from agentpods._generated.types import WebhookEvent
from agentpods.errors import AgentpodsError

SIGNATURE = "x-service-signature"
PREVIOUS = "x-service-signature-previous"  # for 24 hours after the secret was changed, made with the old one
DELIVERY = "x-service-delivery"


class NotGenuineError(AgentpodsError):
    """The event is not signed with this secret. Answer 401, and do nothing."""


def verified(body: bytes, headers: Mapping[str, str] | Iterable[tuple[str, str]], *, secret: str) -> WebhookEvent:
    """The event, if its signature is right. Raises NotGenuineError."""
    if not secret:
        raise ValueError("secret: is empty, so anybody could sign with it")
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    given = {name.lower(): value for name, value in pairs}
    signatures = [given[name] for name in (SIGNATURE, PREVIOUS) if name in given]
    if not any([_is_right(body, signature, secret) for signature in signatures]):  # noqa: C419  # all, in equal time
        raise NotGenuineError("the event is not signed with this secret")
    return _event(body, given.get(DELIVERY))


def _is_right(body: bytes, signature: str, secret: str) -> bool:
    expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode("utf-8", "surrogateescape"))


def _event(body: bytes, delivery: str | None) -> WebhookEvent:
    event = json.loads(body)
    # The signature is of the body alone, so a header with another id was changed on its way.
    if not isinstance(event, dict) or (delivery is not None and event.get("id") != delivery):
        raise NotGenuineError("the headers are not those of the signed event")
    return cast("WebhookEvent", event)
