"""Stripe's webhook calls: check the signature and store the event. A worker handles the event later.

When `receive` returns, the event is committed.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from billing.providers.stripe import configuration, inbox
from billing.providers.stripe.errors import NotStripe
from config.operator_settings import operator_settings


def receive(body: bytes, *, signature: str, now: datetime) -> None:
    """Store the event. Raises NotStripe unless it is signed with one of our secrets within the last five minutes."""
    inbox.keep([_event(body, signature)], now=now)


def _event(body: bytes, signature: str) -> dict[str, Any]:
    if not configuration.is_configured():
        raise NotStripe
    import stripe  # noqa: PLC0415 # takes half a second, so only where Stripe is used

    for secret in operator_settings.STRIPE_WEBHOOK_SECRETS:
        try:
            event: dict[str, Any] = stripe.Webhook.construct_event(body, signature, secret).to_dict()
        except stripe.SignatureVerificationError:  # it may be signed with another secret
            continue
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise NotStripe from error
        return event
    raise NotStripe
