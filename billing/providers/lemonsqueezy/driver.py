"""Lemon Squeezy: licence keys of subscriptions.

It calls the keys of any seller `valid`, so store, product and variant are compared before a key is activated. It counts
activations, and each has an id.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from dateutil.relativedelta import relativedelta
from django.conf import settings

from billing.errors import LicenceRefused
from billing.periods import MONTHS
from billing.providers.base import LicenceCharge, LicenceDriver, ProviderAnswer, ProviderOffer, Verdict
from billing.providers.lemonsqueezy import api, reasons, signature
from billing.providers.lemonsqueezy.api import KeyRefused, KeySale
from billing.providers.licence_http import NoAnswer, Reply, ask, moment
from billing.providers.plans import Plan, plan_named, renewed_until
from billing.vocabulary import Period, Provider
from config.errors import Unavailable
from config.operator_settings import operator_settings

log = logging.getLogger(__name__)

OK, NOT_FOUND, REFUSALS = 200, 404, {400, 404, 422}
USABLE = {"inactive", "active"}  # inactive means that the key was never activated, not that it is unpaid
NAMED = ("store_id", "product_id", "variant_id")
ENDED = {"expired": reasons.EXPIRED, "disabled": reasons.DISABLED}
# States of a subscription whose card was refused. In other states the charge may still follow within minutes.
NOT_CHARGED, ON_TRIAL = {"past_due", "unpaid", "expired", "paused"}, "on_trial"
CHARGED_WITHIN = timedelta(days=3)  # the end of a licence and the end of its charge may differ by this much
UNSEEN = "LEMONSQUEEZY_API_KEY is not set: Lemon Squeezy does not report refunds, disputes and failed renewals"
SAYS = {"validate": "valid", "activate": "activated", "deactivate": "deactivated"}  # the answer's field for each call
# The only 404 message that is about a key. Any other one comes from a proxy in front of Lemon Squeezy.
NO_SUCH_KEY = "license_key not found"


def driver(provider: Provider) -> LemonSqueezy:
    return LemonSqueezy()


class LemonSqueezy(LicenceDriver):
    name = "Lemon Squeezy"
    counts_activations = True
    cancel_url = "https://app.lemonsqueezy.com/my-orders"

    @property
    def stops_cards(self) -> bool:
        return api.is_on()

    @property
    def unseen(self) -> str:
        return "" if api.is_on() else UNSEEN

    @property
    def offer(self) -> ProviderOffer:
        needed = (
            operator_settings.LEMONSQUEEZY_STORE,
            operator_settings.LEMONSQUEEZY_PRODUCTS,
            operator_settings.LEMONSQUEEZY_VARIANTS,
        )
        return ProviderOffer(
            id=Provider.LEMONSQUEEZY,
            label="Card (Lemon Squeezy)",
            active=all(needed),
            buy_url=operator_settings.LEMONSQUEEZY_BUY_URL or None,
            buy_urls=dict(operator_settings.LEMONSQUEEZY_BUY_URLS),
            note="Buy a licence key, then activate it with POST /subscriptions.",
        )

    @property
    def signs(self) -> bool:
        return signature.is_expected()

    def check_signature(self, body: bytes, headers: Mapping[str, str]) -> None:
        signature.check(body, headers.get(signature.HEADER, ""))

    def verify(self, key: str, *, now: datetime) -> Verdict:
        try:
            reply = _ask("validate", {"license_key": key})
            return _with_charges(_judged(reply, now=now), reply, now=now)
        except NoAnswer as error:
            return Verdict(answer=ProviderAnswer.UNKNOWN, reason=str(error))

    def activate(self, key: str, *, agent_id: str) -> str:
        try:
            reply = _ask("activate", {"license_key": key, "instance_name": agent_id})
        except NoAnswer as error:
            raise Unavailable(f"lemonsqueezy does not answer ({error}): try again soon", retry_after=30) from error
        instance = reply.body.get("instance")
        if reply.body.get("activated") is True and isinstance(instance, dict) and instance.get("id"):
            return str(instance["id"])
        raise LicenceRefused(f"lemonsqueezy: {str(reply.body.get('error'))[:200]}")

    def stop_card(self, external_ref: str) -> bool:
        if not self.stops_cards:
            return False
        try:
            api.stop_card(external_ref)
        except KeyRefused:
            return False
        except NoAnswer as error:
            raise Unavailable(f"lemonsqueezy does not answer ({error}): try again soon", retry_after=30) from error
        return True

    def release(self, key: str, *, instance: str) -> None:
        """A key or an activation that does not exist any more counts as released."""
        try:
            _ask("deactivate", {"license_key": key, "instance_id": instance})
        except NoAnswer as error:
            raise Unavailable(f"lemonsqueezy does not answer ({error}): try again soon", retry_after=30) from error


def _ask(verb: str, fields: Mapping[str, str]) -> Reply:
    url = f"{settings.LEMONSQUEEZY_URL}/v1/licenses/{verb}"
    reply = ask(Provider.LEMONSQUEEZY, url, fields, per_minute=settings.LEMONSQUEEZY_REQUESTS_PER_MINUTE)
    if reply.status != OK and not _is_refusal(reply, verb):
        raise NoAnswer(f"HTTP {reply.status} that is not of its interface")
    return reply


def _is_refusal(reply: Reply, verb: str) -> bool:
    """Whether a 4xx answer has the documented form of a refusal."""
    said_no = reply.body.get(SAYS[verb]) is False
    return reply.status in REFUSALS and said_no and isinstance(reply.body.get("error"), str)


def _judged(reply: Reply, *, now: datetime) -> Verdict:
    key, meta = reply.body.get("license_key"), reply.body.get("meta")
    if reply.status == NOT_FOUND:
        return _unknown(reply)
    if not isinstance(key, dict) or not isinstance(meta, dict):
        raise NoAnswer(f"HTTP {reply.status}, an answer without its key")
    if any(meta.get(name) is None for name in NAMED):
        raise NoAnswer("a key that does not say what was sold")
    if not _is_ours(meta):
        return Verdict(answer=ProviderAnswer.UNPAID, reason=reasons.NOT_OURS)
    if reason := ENDED.get(str(key.get("status"))):
        return Verdict(answer=ProviderAnswer.UNPAID, reason=reason, revoked=True, failed=reason == reasons.EXPIRED)
    if str(key.get("status")) not in USABLE or reply.body.get("valid") is not True:
        raise NoAnswer(f"the status {str(key.get('status'))[:40]!r}, valid {str(reply.body.get('valid'))[:10]}")
    return _paid(key, meta, now=now)


def _unknown(reply: Reply) -> Verdict:
    error = str(reply.body.get("error")).lower().rstrip(". ")
    if error != NO_SUCH_KEY:
        raise NoAnswer("HTTP 404 that is not of its interface")
    return Verdict(answer=ProviderAnswer.UNPAID, reason=reasons.UNKNOWN_KEY)


def _is_ours(meta: Mapping[str, Any]) -> bool:
    """Whether the key is for one of our products. Ids are numbers in the answer and text in the settings."""
    return (
        str(meta.get("store_id")) == operator_settings.LEMONSQUEEZY_STORE
        and str(meta.get("product_id")) in operator_settings.LEMONSQUEEZY_PRODUCTS
    )


def _paid(key: Mapping[str, Any], meta: Mapping[str, Any], *, now: datetime) -> Verdict:
    plan = _plan(str(meta.get("variant_id")))
    if plan is None or plan.period is None:
        log.error("a licence of no plan: check the settings", extra={"variant": str(meta.get("variant_id"))[:40]})
        return Verdict(answer=ProviderAnswer.UNPAID, reason=reasons.NO_PLAN)
    till = _till(key, plan.period, now=now)
    if till <= now:
        return Verdict(answer=ProviderAnswer.UNPAID, reason=reasons.EXPIRED, revoked=True, failed=True)
    if not meta.get("order_item_id"):
        raise NoAnswer("a key without its order")
    return Verdict(
        answer=ProviderAnswer.PAID,
        external_ref=str(meta["order_item_id"])[:100],
        till=till,
        tier=plan.tier,
        period=plan.period,
        exhausted=_is_used_up(key),
        used=_used(key),
    )


def _with_charges(verdict: Verdict, reply: Reply, *, now: datetime) -> Verdict:
    """Add the charges and refunds from the seller's API, if its key is set.

    A licence may be called paid for the next period before its card was charged, or although the card was never
    charged.
    """
    meta = reply.body.get("meta")
    if not api.is_on() or not isinstance(meta, dict) or not _is_ours(meta):
        return verdict
    try:
        sale = api.sale_of(str(meta.get("order_item_id")), order=str(meta.get("order_id")))
    except KeyRefused:  # as if no key were set; the log and the Books page tell the operator
        return verdict
    verdict = replace(verdict, charges=sale.charges, card_ref=sale.subscription)
    last = sale.charges[-1] if sale.charges else None
    if last and last.went_back:
        return replace(verdict, answer=ProviderAnswer.UNPAID, reason=reasons.TAKEN_BACK, revoked=True, went_back=True)
    if last is None or verdict.period is None or verdict.till is None:
        return verdict
    verdict = replace(verdict, price_usd=Decimal(last.cents) / 100, cancels=verdict.cancels or sale.cancels)
    if not sale.subscription or sale.status == ON_TRIAL:
        return verdict
    return _charged(verdict, last, sale, now=now)


def _charged(verdict: Verdict, last: LicenceCharge, sale: KeySale, *, now: datetime) -> Verdict:
    till = last.at + relativedelta(months=MONTHS[verdict.period or Period.MONTHLY])
    if verdict.till is None or verdict.till - till <= CHARGED_WITHIN:
        return verdict
    if now < till:
        return replace(verdict, till=till)
    if sale.status in NOT_CHARGED:
        return Verdict(
            answer=ProviderAnswer.UNPAID,
            reason=reasons.NOT_RENEWED,
            revoked=True,
            charges=sale.charges,
            card_ref=sale.subscription,
        )
    raise NoAnswer("the card is not charged yet for what the licence says")


def _plan(variant: str) -> Plan | None:
    names = (name for name, sold in operator_settings.LEMONSQUEEZY_VARIANTS.items() if sold == variant)
    return next((plan_named(name) for name in names), None)


def _till(key: Mapping[str, Any], period: Period, *, now: datetime) -> datetime:
    """Until when the key is paid.

    A key without an end date follows its subscription's status: paid for the current period.
    """
    expires, created = moment(key.get("expires_at")), moment(key.get("created_at"))
    if expires is not None:
        return expires
    if created is None:
        raise NoAnswer("a key without its times")
    return renewed_until(created, period, now=now)


def _is_used_up(key: Mapping[str, Any]) -> bool:
    limit, used = key.get("activation_limit"), _used(key)
    return isinstance(limit, int) and used is not None and used >= limit


def _used(key: Mapping[str, Any]) -> int | None:
    used = key.get("activation_usage")
    return used if isinstance(used, int) else None
