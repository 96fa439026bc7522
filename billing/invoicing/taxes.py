"""The tax in a price, by the operator's rates. Prices are what a customer pays, including tax."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from billing.invoicing.parties import Party
from billing.models import TaxRate
from billing.sums import CENT

HUNDRED = Decimal(100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tax:
    name: str
    percent: Decimal
    reverse_charge: bool = False
    usd: Decimal | None = None  # the amount in cents precision, if the provider computed it


NO_TAX = Tax(name="", percent=Decimal(0))


def tax_for(seller: Party, buyer: Party) -> Tax:
    """The rate of the buyer's country, or else the rate for everywhere else. No tax if the operator has set no rate.

    If the rate says reverse charge, a business in another country owes the tax itself. Its tax id is not checked.
    """
    known = {rate.country: rate for rate in TaxRate.objects.filter(country__in={buyer.country, ""})}
    rate = known.get(buyer.country) or known.get("")
    if rate is None:
        return NO_TAX
    if rate.reverse_charge and buyer.tax_id and buyer.country and buyer.country != seller.country:
        return Tax(name=rate.name, percent=Decimal(0), reverse_charge=True)
    return Tax(name=rate.name, percent=rate.percent)


def contained(total: Decimal, percent: Decimal) -> Decimal:
    """The tax that is contained in a sum, in whole cents."""
    return (total * percent / (HUNDRED + percent)).quantize(CENT, ROUND_HALF_UP)
