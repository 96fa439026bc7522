"""An account's customer at Stripe, created with its first order, and the customer portal."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings

from accounts.models import User
from billing.errors import NotConfigured
from billing.models import StripeCustomer
from billing.providers.stripe import api, configuration
from billing.providers.stripe.api import StripeAway
from billing.providers.stripe.errors import NoCardYet
from billing.vocabulary import Provider
from config import dry_run, waiting


def customer_of(user: User, *, now: datetime) -> str:
    """The id of the account's customer at Stripe. Raises StripeAway.

    Two parallel orders get the same customer, since both calls use the same idempotency key.
    """
    known = StripeCustomer.objects.filter(pk=user.pk).first()
    if known is not None:
        return known.customer_id
    made = api.make_customer(email=user.email, user_id=user.pk)
    if not made:
        raise StripeAway("make a customer", "answered without an id")
    values = {"customer_id": made, "created_at": now}
    return StripeCustomer.objects.get_or_create(user=user, defaults=values)[0].customer_id


def forget(user: User) -> None:
    """Delete the customer at Stripe, with its email, addresses and cards. Its charges stay.

    If Stripe is no longer set up, it cannot be told. Calling this twice is harmless. Raises StripeAway.
    """
    known = StripeCustomer.objects.filter(pk=user.pk).first()
    if known is None:
        return
    if configuration.is_configured():
        api.delete_customer(known.customer_id)
    known.delete()


def portal(user: User, *, back: str = "/account") -> str:
    """The URL of Stripe's portal, valid for some minutes. There the owner changes the card, reads invoices and cancels.

    Raises NotConfigured, NoCardYet, StripeAway.
    """
    if not configuration.is_configured():
        raise NotConfigured("stripe", Provider.STRIPE)
    known = StripeCustomer.objects.filter(pk=user.pk).first()
    if known is None:
        raise NoCardYet
    if dry_run.skips("url (its provider)"):
        return ""
    with waiting.looks.take(user.pk):
        return api.open_portal(known.customer_id, return_url=f"{settings.BASE_URL}{back}")
