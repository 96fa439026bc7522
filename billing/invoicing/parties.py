"""The seller and the buyer on an invoice."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from accounts.models import User
from billing.models import BillingDetails
from config.operator_settings import operator_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Party:
    """`address` has several lines; `country` is two letters or empty; only the buyer has an `email`."""

    name: str
    address: str
    country: str
    tax_id: str
    email: str = ""

    def written(self) -> dict[str, str]:
        """The form in which an invoice stores it."""
        return asdict(self)


def seller() -> Party | None:
    """The seller from the settings. None if they are not set: then no invoices are issued."""
    if not operator_settings.SELLER_NAME:
        return None
    return Party(
        name=operator_settings.SELLER_NAME,
        address="\n".join(part.strip() for part in operator_settings.SELLER_ADDRESS.split(";")),
        country=operator_settings.SELLER_COUNTRY,
        tax_id=operator_settings.SELLER_TAX_ID,
    )


def details_of(user: User) -> BillingDetails:
    """The account's billing details. Empty fields if it has none."""
    return BillingDetails.objects.filter(pk=user.pk).first() or BillingDetails(user=user)


def buyer(user: User) -> Party:
    known = details_of(user)
    email = "" if user.is_erased else user.email
    return Party(name=known.name, address=known.address, country=known.country, tax_id=known.tax_id, email=email)


def set_details(user: User, *, name: str, address: str, country: str, tax_id: str) -> BillingDetails:
    """Change the billing details. Invoices that are already issued stay as they are."""
    given = {"name": name, "address": address, "country": country, "tax_id": tax_id}
    return BillingDetails.objects.update_or_create(user=user, defaults=given)[0]
