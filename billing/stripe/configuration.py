"""Whether Stripe sells here, and what it shares with us."""

from __future__ import annotations

from django.conf import settings

from config import crypto

CALLBACK = "/payments/stripe/callback"
FINGERPRINT = 16


def is_configured() -> bool:
    return bool(settings.STRIPE_SECRET_KEY and settings.STRIPE_WEBHOOK_SECRETS)


def fingerprint() -> str:
    """Which account at Stripe is read, without its key."""
    return crypto.sha256(settings.STRIPE_SECRET_KEY)[:FINGERPRINT]


def load() -> None:
    """Import the library where it is needed, before threads start."""
    if is_configured():
        from billing.providers import stripe_http  # noqa: F401, PLC0415
