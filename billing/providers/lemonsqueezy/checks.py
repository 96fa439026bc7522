"""The warnings of `check --deploy` about the settings of Lemon Squeezy."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, register
from django.core.checks import Warning as CheckWarning

from billing.providers.lemonsqueezy import api, signature
from billing.providers.lemonsqueezy.driver import LemonSqueezy
from config.operator_settings.values import values


@register(Tags.security, deploy=True)
def licences_are_watched(**_: Any) -> list[CheckMessage]:
    """Warn when Lemon Squeezy is sold without the seller's API key or without a webhook secret.

    Without the API key we do not see refunds and disputes. Without the secret we see them later.
    """
    with values.unread():
        if not LemonSqueezy().offer.active:
            return []
        seen, is_signed = api.is_on(), signature.is_expected()
    found: list[CheckMessage] = []
    if not seen:
        hint = "Without it a key stays active after its money went back, and cancelling here stops no card."
        found.append(CheckWarning("LEMONSQUEEZY_API_KEY is not set", hint=hint, id="agentpods.W003"))
    if not is_signed:
        hint = f"Set it as the signing secret of the webhook to {settings.BASE_URL}/payments/lemonsqueezy/callback."
        found.append(CheckWarning("LEMONSQUEEZY_WEBHOOK_SECRET is not set", hint=hint, id="agentpods.W004"))
    return found
