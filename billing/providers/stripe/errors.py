"""Errors of selling by card."""

from __future__ import annotations

from config.errors import BadRequest, Conflict


class NoCardYet(Conflict):
    message = "no card of yours is known yet: POST /stripe/orders is where the first one is entered"


class NotStripe(BadRequest):
    message = "Stripe-Signature: missing, wrong or too old; this address is only for Stripe"


class StripeUnreadable(Exception):
    """Stripe's answer cannot be understood. It pays nothing, and is read again later."""


class UnmatchedObject(Exception):
    """It names one of our orders but does not fit it. An operator looks at Stripe."""
