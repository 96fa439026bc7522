"""What the console's lists of money sum. Coins are summed for each token alone: their decimals differ."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.db.models import Count, F, Min, OuterRef, Subquery, Value
from django.db.models.functions import Coalesce, NullIf

from billing import sums
from billing.models import Deposit
from billing.providers import registry
from billing.reports.sales import EXACT
from config.totals import Totals


class MoneyTotals(Totals):
    """Amounts in smallest units of the column `currency`, with `decimals` where the rows know them."""

    __slots__ = ()

    def text(self, name: str, group: Mapping[str, Any], total: Decimal) -> str:
        code = str(group["currency"])
        currency = registry.currencies().get(code)
        if name != "amount":
            return f"{total:f} USD"
        if currency is None:
            return f"{total.scaleb(-sums.CENT_DIGITS, EXACT):.2f} {code.upper()}"
        decimals = group.get("decimals")
        known = currency.decimals() if decimals is None else decimals
        return f"{sums.exact(total, known)} {currency.name}" if known is not None else f"{total:f} units of {code}"


ORDERED = Coalesce(F("order__cryptoorder__decimals"), F("refund_of__order__cryptoorder__decimals"))

PAYMENTS = MoneyTotals(
    by={"kind": "kind", "currency": "currency", "decimals": ORDERED}, sums={"amount": "amount", "price": "price_usd"}
)
CHARGES = MoneyTotals(by={"why": "why", "currency": "currency"}, sums={"amount": "amount"})
DISPUTES = MoneyTotals(by={"status": "status", "currency": "payment__currency"}, sums={"amount": "cents"})
INVOICES = Totals(by={"kind": "kind"}, sums={"total": "total_usd", "tax": "tax_usd"}, unit="in USD")
ORDERS = Totals(by={"status": "status", "provider": "provider"}, sums={"price": "price_usd"}, unit="in USD")

_COIN = {"asset": "asset", "chain": "chain_id"}
# A sweep from an earlier release does not say its token. It is the only one that came to the address, if there is one.
_CAME = Deposit.objects.filter(
    deposit_address=OuterRef("deposit_address"), chain_id=OuterRef("chain_id"), asset=OuterRef("asset")
)
_ONLY = _CAME.order_by().values("asset").annotate(tokens=Count("token", distinct=True), token_=Min("token"))
_TOKEN = Coalesce(NullIf(F("token"), Value("")), Subquery(_ONLY.filter(tokens=1).values("token_")), Value(""))

DEPOSITS = Totals(by={**_COIN, "token": "token"}, sums={"amount": "amount"}, unit="in smallest units")
SWEEPS = Totals(by={**_COIN, "token": _TOKEN}, sums={"amount": "amount"}, unit="in smallest units")
MISPLACED = Totals(
    by={"symbol": "symbol", "chain": "chain_id", "token": "token"}, sums={"amount": "amount"}, unit="in smallest units"
)
