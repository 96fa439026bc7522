"""Gumroad: licence keys of memberships and of one-off sales.

Gumroad tells neither until when a membership is paid nor which product a key belongs to. `success` alone does not mean
paid.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from dateutil.relativedelta import relativedelta
from django.conf import settings

from billing.periods import MONTHS
from billing.providers.base import LicenceCharge, LicenceDriver, ProviderAnswer, ProviderOffer, Verdict
from billing.providers.gumroad import reasons
from billing.providers.licence_http import AskedTooOften, NoAnswer, Reply, ask, moment
from billing.providers.plans import Plan, plan_named, renewed_until
from billing.vocabulary import Period, Provider
from config.operator_settings import operator_settings

log = logging.getLogger(__name__)

RECURRENCES = {"monthly": Period.MONTHLY, "yearly": Period.ANNUAL}
FLAGS = ("test", "refunded", "disputed", "dispute_won", "chargebacked")
NOT_FOUND = 404
# The three messages of a 404. The last two are about a key that exists. Any other message counts as no answer.
NO_SUCH_KEY = "that license does not exist for the provided product"
TAKEN_AWAY = (
    "this license key has been disabled",
    "access to the purchase associated with this license has expired",
)


def driver(provider: Provider) -> Gumroad:
    return Gumroad()


class Gumroad(LicenceDriver):
    """Its API cannot cancel a membership: the buyer can, or the seller by hand. It does not bind keys."""

    name = "Gumroad"
    cancel_url = "https://app.gumroad.com/library"
    unseen = "Gumroad reports refunds and disputes only of a first payment: note refunded renewals in the ledger"

    @property
    def offer(self) -> ProviderOffer:
        return ProviderOffer(
            id=Provider.GUMROAD,
            label="Card (Gumroad)",
            active=bool(operator_settings.GUMROAD_PRODUCTS),
            buy_url=operator_settings.GUMROAD_BUY_URL or None,
            buy_urls=dict(operator_settings.GUMROAD_BUY_URLS),
            note="Buy a licence key, then activate it with POST /subscriptions.",
        )

    def verify(self, key: str, *, now: datetime) -> Verdict:
        """Ask for each product until one knows the key.

        If one could not be asked, the answer is unknown: it may be the one.
        """
        verdict = Verdict(answer=ProviderAnswer.UNPAID, reason=reasons.UNKNOWN_KEY)
        for product in _products():
            try:
                reply = _ask(key, product, consume=False)
                if reply.status != NOT_FOUND:
                    return _judged(reply, now=now)
                if taken := _taken_away(reply):
                    return taken
            except NoAnswer as error:
                verdict = Verdict(answer=ProviderAnswer.UNKNOWN, reason=str(error))
                continue
            except AskedTooOften:
                if verdict.answer == ProviderAnswer.UNKNOWN:  # the provider has just told us to wait
                    break
                raise
        return verdict

    def activate(self, key: str, *, agent_id: str) -> str:
        """Increase Gumroad's counter of uses, which only informs the seller. Gumroad does not limit it."""
        for product in _products():
            try:
                if _ask(key, product, consume=True).status != NOT_FOUND:
                    break
            except NoAnswer as error:
                log.info("a use was not counted", extra={"agent": agent_id, "problem": str(error)})
        return ""


def _products() -> list[str]:
    return list(dict.fromkeys(operator_settings.GUMROAD_PRODUCTS.values()))


def _ask(key: str, product: str, *, consume: bool) -> Reply:
    fields = {"product_id": product, "license_key": key, "increment_uses_count": "true" if consume else "false"}
    url = f"{settings.GUMROAD_URL}/v2/licenses/verify"
    return ask(Provider.GUMROAD, url, fields, per_minute=settings.GUMROAD_REQUESTS_PER_MINUTE)


def _taken_away(reply: Reply) -> Verdict | None:
    message = str(reply.body.get("message", "")).lower().rstrip(". ")
    if reply.body.get("success") is not False or message not in {NO_SUCH_KEY, *TAKEN_AWAY}:
        raise NoAnswer("HTTP 404 that is not of its interface")
    if message == NO_SUCH_KEY:
        return None
    return Verdict(answer=ProviderAnswer.UNPAID, reason=reasons.DISABLED, revoked=True)


def _judged(reply: Reply, *, now: datetime) -> Verdict:
    body = reply.body
    if reply.status != 200 or body.get("success") is not True:
        raise NoAnswer(f"HTTP {reply.status}")
    purchase = body.get("purchase")
    if purchase is None:
        return Verdict(answer=ProviderAnswer.UNPAID, reason=reasons.NO_PURCHASE)
    if not isinstance(purchase, dict):
        raise NoAnswer("a purchase that is no object")
    _refuse_nonsense(purchase)
    product = purchase["product_id"]
    if product not in _products():
        return Verdict(answer=ProviderAnswer.UNPAID, reason=reasons.NOT_OURS)
    verdict = _against(purchase, now=now) or _paid(purchase, product, now=now)
    first = None if verdict.went_back else _first_charge(purchase)
    return replace(verdict, charges=(first,)) if first else verdict


def _refuse_nonsense(purchase: Mapping[str, Any]) -> None:
    if not isinstance(purchase.get("product_id"), str):
        raise NoAnswer("a purchase without its product")
    if any(purchase.get(name) not in (None, True, False) for name in FLAGS):
        raise NoAnswer("a purchase with a flag that is neither true nor false")


def _against(purchase: Mapping[str, Any], *, now: datetime) -> Verdict | None:
    """The verdict UNPAID, or None. A cancellation counts from the end of the paid time, which Gumroad names."""
    if purchase.get("test") and not operator_settings.GUMROAD_TEST_PURCHASES:
        return Verdict(answer=ProviderAnswer.UNPAID, reason=reasons.TEST)
    over = moment(purchase.get("subscription_cancelled_at"))
    went_back = "" if _is_used_up(purchase, now=now) else _went_back(purchase)
    against = {
        went_back: went_back,
        reasons.ENDED: moment(purchase.get("subscription_ended_at")),
        reasons.NOT_RENEWED: moment(purchase.get("subscription_failed_at")),
        reasons.CANCELLED: over is not None and over <= now,
    }
    reason = next((reason for reason, holds in against.items() if holds), None)
    if reason is None:
        return None
    failed = moment(purchase.get("subscription_failed_at")) is not None
    return Verdict(answer=ProviderAnswer.UNPAID, reason=reason, revoked=True, went_back=bool(went_back), failed=failed)


def _went_back(purchase: Mapping[str, Any]) -> str:
    """Why the first payment was refunded. Empty if it was not."""
    against = {
        reasons.REFUNDED: purchase.get("refunded"),
        reasons.DISPUTED: purchase.get("disputed") and not purchase.get("dispute_won"),
        reasons.CHARGED_BACK: purchase.get("chargebacked"),
    }
    return next((reason for reason, holds in against.items() if holds), "")


def _is_used_up(purchase: Mapping[str, Any], *, now: datetime) -> bool:
    """Whether the period of the first payment is over. After that, renewals pay for the membership."""
    period, sold = RECURRENCES.get(str(purchase.get("recurrence"))), _sold_at(purchase)
    return period is not None and sold is not None and _once_until(sold, period) <= now


def _first_charge(purchase: Mapping[str, Any]) -> LicenceCharge | None:
    """The first payment of a membership, the only one whose refund Gumroad tells.

    The membership is still charged later.
    """
    sold = _sold_at(purchase)
    if sold is None or not purchase.get("recurrence"):
        return None
    cents, back = int((_usd(purchase) or 0) * 100), bool(_went_back(purchase))
    return LicenceCharge(name=str(purchase.get("sale_id")), at=sold, cents=cents, back=back * cents, all_back=back)


def _sold_at(purchase: Mapping[str, Any]) -> datetime | None:
    return moment(purchase.get("sale_timestamp") or purchase.get("created_at"))


def _paid(purchase: Mapping[str, Any], product: str, *, now: datetime) -> Verdict:
    recurrence = purchase.get("recurrence")
    plan = _plan(purchase, product)
    if plan is None:
        log.error("a licence of no plan: check the settings", extra={"variants": str(purchase.get("variants"))[:100]})
        return Verdict(answer=ProviderAnswer.UNPAID, reason=reasons.NO_PLAN)
    period = RECURRENCES.get(str(recurrence)) if recurrence else plan.period
    if period is None:
        return Verdict(answer=ProviderAnswer.UNPAID, reason=reasons.paid_otherwise(str(recurrence or "once")))
    sold = _sold_at(purchase)
    if sold is None:
        raise NoAnswer("a purchase without its time")
    over = moment(purchase.get("subscription_cancelled_at"))
    till = over or (renewed_until(sold, period, now=now) if recurrence else _once_until(sold, period))
    if till <= now:
        return Verdict(answer=ProviderAnswer.UNPAID, reason=reasons.OVER, revoked=True)
    return Verdict(
        answer=ProviderAnswer.PAID,
        external_ref=_reference(purchase),
        till=till,
        tier=plan.tier,
        period=period,
        price_usd=_usd(purchase),
        cancels=over is not None or not recurrence,
    )


def _plan(purchase: Mapping[str, Any], product: str) -> Plan | None:
    """The plan of this product. If the plan has a variant, it must be exactly the purchase's variant."""
    period = RECURRENCES.get(str(purchase.get("recurrence")))
    for name, sold in operator_settings.GUMROAD_PRODUCTS.items():
        plan = plan_named(name)
        fits = period is None or plan.period in {None, period}
        variant = operator_settings.GUMROAD_VARIANTS.get(plan.tier)
        if sold == product and fits and variant in (None, purchase.get("variants")):
            return plan
    return None


def _once_until(sold: datetime, period: Period) -> datetime:
    return sold + relativedelta(months=MONTHS[period])


def _reference(purchase: Mapping[str, Any]) -> str:
    """The purchase's id. A membership keeps its id when its plan changes; a sale does not."""
    found = purchase.get("subscription_id") or purchase.get("sale_id") or purchase.get("id")
    if not isinstance(found, str) or not 1 <= len(found) <= 100:
        raise NoAnswer("a purchase without its id")
    return found


def _usd(purchase: Mapping[str, Any]) -> Decimal | None:
    """The price in USD. None for another currency."""
    cents = purchase.get("price")
    in_usd = str(purchase.get("currency", "")).lower() == "usd"
    if not in_usd or not isinstance(cents, int) or isinstance(cents, bool) or not 0 <= cents < 10**9:
        return None
    return Decimal(cents) / 100
