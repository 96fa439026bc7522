"""Whether Stripe is set up, and which account is used."""

from __future__ import annotations

from django.conf import settings

from config import crypto

CALLBACK = "/payments/stripe/callback"
FINGERPRINT = 16


def is_configured() -> bool:
    return bool(settings.STRIPE_SECRET_KEY and settings.STRIPE_WEBHOOK_SECRETS)


def fingerprint() -> str:
    """A fingerprint of the secret key: identifies the Stripe account without showing the key."""
    return crypto.sha256(settings.STRIPE_SECRET_KEY)[:FINGERPRINT]


def load() -> None:
    """Import Stripe's library before threads start, if Stripe is set up."""
    if is_configured():
        from billing.providers.stripe import http  # noqa: F401, PLC0415
