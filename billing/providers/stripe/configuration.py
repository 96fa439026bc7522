"""Whether Stripe is set up, and which account is used."""

from __future__ import annotations

from config import crypto
from config.operator_settings import operator_settings
from config.operator_settings.values import values

CALLBACK = "/payments/stripe/callback"
FINGERPRINT = 16


def is_configured() -> bool:
    return bool(operator_settings.STRIPE_SECRET_KEY and operator_settings.STRIPE_WEBHOOK_SECRETS)


def fingerprint() -> str:
    """A fingerprint of the secret key: identifies the Stripe account without showing the key."""
    return crypto.sha256(operator_settings.STRIPE_SECRET_KEY)[:FINGERPRINT]


def load() -> None:
    """Import Stripe's library before threads start, if the environment sets Stripe up."""
    with values.unread():
        if is_configured():
            from billing.providers.stripe import http  # noqa: F401, PLC0415
