"""What Stripe posts to us: signed, written down, and looked at by a worker. Returning means that it is committed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings

from billing.stripe import configuration, inbox
from billing.stripe.errors import NotStripe


def receive(body: bytes, *, signature: str, now: datetime) -> None:
    """Raises NotStripe unless it is signed with one of our secrets, within the last five minutes."""
    inbox.keep([_event(body, signature)], now=now)


def _event(body: bytes, signature: str) -> dict[str, Any]:
    if not configuration.is_configured():
        raise NotStripe
    import stripe  # noqa: PLC0415 # half a second, which only installations that sell by it spend

    for secret in settings.STRIPE_WEBHOOK_SECRETS:
        try:
            event: dict[str, Any] = stripe.Webhook.construct_event(body, signature, secret).to_dict()
        except stripe.SignatureVerificationError:  # of another secret, perhaps
            continue
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise NotStripe from error
        return event
    raise NotStripe
