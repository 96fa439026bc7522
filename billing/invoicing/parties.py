"""Who sells and who buys, as it stands on an invoice."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from django.conf import settings

from accounts.models import User
from billing.models import BillingDetails


@dataclass(frozen=True, slots=True, kw_only=True)
class Party:
    """`address` has its lines; `country` is two letters or empty; `email` is the buyer's alone."""

    name: str
    address: str
    country: str
    tax_id: str
    email: str = ""

    def written(self) -> dict[str, str]:
        """As an invoice keeps it."""
        return asdict(self)


def seller() -> Party | None:
    """None where the operator has not said who sells: then nothing is invoiced."""
    if not settings.SELLER_NAME:
        return None
    return Party(
        name=settings.SELLER_NAME,
        address="\n".join(part.strip() for part in settings.SELLER_ADDRESS.split(";")),
        country=settings.SELLER_COUNTRY,
        tax_id=settings.SELLER_TAX_ID,
    )


def details_of(user: User) -> BillingDetails:
    """What the account has said of itself; nothing yet is empty fields."""
    return BillingDetails.objects.filter(pk=user.pk).first() or BillingDetails(user=user)


def buyer(user: User) -> Party:
    known = details_of(user)
    email = "" if user.is_erased else user.email
    return Party(name=known.name, address=known.address, country=known.country, tax_id=known.tax_id, email=email)


def set_details(user: User, *, name: str, address: str, country: str, tax_id: str) -> BillingDetails:
    """From now on: what is issued keeps what it has."""
    given = {"name": name, "address": address, "country": country, "tax_id": tax_id}
    return BillingDetails.objects.update_or_create(user=user, defaults=given)[0]
