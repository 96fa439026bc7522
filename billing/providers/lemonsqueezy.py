"""Lemon Squeezy: licence keys of subscriptions (facts: billing 1.2).

It answers `valid` for the key of any seller, so store, product and variant are compared before anything is activated.
It counts activations, each with a name of its own.
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
from billing.providers import lemonsqueezy_api
from billing.providers.base import Answer, Charge, Offer, Verdict
from billing.providers.gumroad import renewed_until
from billing.providers.lemonsqueezy_api import KeyRefused, Sale
from billing.providers.licence_http import NoAnswer, Reply, ask, moment
from billing.providers.plans import Plan, plan_named
from billing.vocabulary import Period, Provider
from config.errors import Unavailable

log = logging.getLogger(__name__)

OK, NOT_FOUND, REFUSALS = 200, 404, {400, 404, 422}
USABLE = {"inactive", "active"}  # inactive: never activated, which is not unpaid
NAMED = ("store_id", "product_id", "variant_id")
ENDED = {"expired": "its subscription has expired", "disabled": "lemonsqueezy says that this key was disabled"}
# Of a subscription: its card was asked and refused. Others that are not charged yet may be in the next minutes.
NOT_CHARGED, ON_TRIAL = {"past_due", "unpaid", "expired", "paused"}, "on_trial"
CHARGED_WITHIN = timedelta(days=3)  # by so much a licence's end and its charge's may differ
UNSEEN = "LEMONSQUEEZY_API_KEY is not set: refunds, disputes and failed renewals of Lemon Squeezy are not seen"
SAYS = {"validate": "valid", "activate": "activated", "deactivate": "deactivated"}  # by verb, the field of its answer
# The only 404 that tells of a key; another one comes from something in front of Lemon Squeezy.
NO_SUCH_KEY = "license_key not found"
UNKNOWN_KEY = "lemonsqueezy does not know this key; if it was bought within the last minutes, try again soon"


def driver(provider: Provider) -> LemonSqueezy:
    return LemonSqueezy()


class LemonSqueezy:
    counts_activations = True
    cancel_url = "https://app.lemonsqueezy.com/my-orders"

    @property
    def stops_cards(self) -> bool:
        return lemonsqueezy_api.is_on()

    @property
    def unseen(self) -> str:
        return "" if lemonsqueezy_api.is_on() else UNSEEN

    @property
    def offer(self) -> Offer:
        needed = settings.LEMONSQUEEZY_STORE, settings.LEMONSQUEEZY_PRODUCTS, settings.LEMONSQUEEZY_VARIANTS
        return Offer(
            id=Provider.LEMONSQUEEZY,
            label="Card (Lemon Squeezy)",
            active=all(needed),
            buy_url=settings.LEMONSQUEEZY_BUY_URL or None,
            buy_urls=dict(settings.LEMONSQUEEZY_BUY_URLS),
            note="Buy a licence key, then activate it with POST /subscriptions.",
        )

    def money_seen(self, order: object) -> bool:
        """Licences have no orders."""
        return False

    def money_noted(self, order: object) -> bool:
        return False

    def verify(self, key: str, *, now: datetime) -> Verdict:
        try:
            reply = _ask("validate", {"license_key": key})
            return _with_charges(_judged(reply, now=now), reply, now=now)
        except NoAnswer as error:
            return Verdict(answer=Answer.UNKNOWN, reason=str(error))

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
            lemonsqueezy_api.stop_card(external_ref)
        except KeyRefused:
            return False
        except NoAnswer as error:
            raise Unavailable(f"lemonsqueezy does not answer ({error}): try again soon", retry_after=30) from error
        return True

    def release(self, key: str, *, instance: str) -> None:
        """A key or an activation that is not there any more counts as released."""
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
    """Whether a 4xx has the form that the documentation gives."""
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
        return Verdict(answer=Answer.UNPAID, reason="this key is of a product that is none of ours")
    if reason := ENDED.get(str(key.get("status"))):
        return Verdict(answer=Answer.UNPAID, reason=reason, revoked=True, failed=reason == ENDED["expired"])
    if str(key.get("status")) not in USABLE or reply.body.get("valid") is not True:
        raise NoAnswer(f"the status {str(key.get('status'))[:40]!r}, valid {str(reply.body.get('valid'))[:10]}")
    return _paid(key, meta, now=now)


def _unknown(reply: Reply) -> Verdict:
    error = str(reply.body.get("error")).lower().rstrip(". ")
    if error != NO_SUCH_KEY:
        raise NoAnswer("HTTP 404 that is not of its interface")
    return Verdict(answer=Answer.UNPAID, reason=UNKNOWN_KEY)


def _is_ours(meta: Mapping[str, Any]) -> bool:
    """Ids are numbers on the wire and text in the settings."""
    return (
        str(meta.get("store_id")) == settings.LEMONSQUEEZY_STORE
        and str(meta.get("product_id")) in settings.LEMONSQUEEZY_PRODUCTS
    )


def _paid(key: Mapping[str, Any], meta: Mapping[str, Any], *, now: datetime) -> Verdict:
    plan = _plan(str(meta.get("variant_id")))
    if plan is None or plan.period is None:
        log.error("a licence of no plan: check the settings", extra={"variant": str(meta.get("variant_id"))[:40]})
        return Verdict(answer=Answer.UNPAID, reason="this licence is not of one of our plans")
    till = _till(key, plan.period, now=now)
    if till <= now:
        return Verdict(answer=Answer.UNPAID, reason=ENDED["expired"], revoked=True, failed=True)
    if not meta.get("order_item_id"):
        raise NoAnswer("a key without its order")
    return Verdict(
        answer=Answer.PAID,
        external_ref=str(meta["order_item_id"])[:100],
        till=till,
        tier=plan.tier,
        period=plan.period,
        exhausted=_is_used_up(key),
        used=_used(key),
    )


def _with_charges(verdict: Verdict, reply: Reply, *, now: datetime) -> Verdict:
    """What the seller's own interface says beside it, if we have a key for that: what was charged and what went back.

    A licence says that it is paid for the next period before the card was charged for it, or without.
    """
    meta = reply.body.get("meta")
    if not lemonsqueezy_api.is_on() or not isinstance(meta, dict) or not _is_ours(meta):
        return verdict
    try:
        sale = lemonsqueezy_api.sale_of(str(meta.get("order_item_id")), order=str(meta.get("order_id")))
    except KeyRefused:  # as without a key; whoever runs this reads of it in the log and in the books
        return verdict
    verdict = replace(verdict, charges=sale.charges, card_ref=sale.subscription)
    last = sale.charges[-1] if sale.charges else None
    if last and last.went_back:
        reason = "its payment was refunded or charged back"
        return replace(verdict, answer=Answer.UNPAID, reason=reason, revoked=True, went_back=True)
    if last is None or verdict.period is None or verdict.till is None:
        return verdict
    verdict = replace(verdict, price_usd=Decimal(last.cents) / 100, cancels=verdict.cancels or sale.cancels)
    if not sale.subscription or sale.status == ON_TRIAL:
        return verdict
    return _charged(verdict, last, sale, now=now)


def _charged(verdict: Verdict, last: Charge, sale: Sale, *, now: datetime) -> Verdict:
    till = last.at + relativedelta(months=MONTHS[verdict.period or Period.MONTHLY])
    if verdict.till is None or verdict.till - till <= CHARGED_WITHIN:
        return verdict
    if now < till:
        return replace(verdict, till=till)
    if sale.status in NOT_CHARGED:
        return Verdict(
            answer=Answer.UNPAID,
            reason="the last renewal was not paid",
            revoked=True,
            charges=sale.charges,
            card_ref=sale.subscription,
        )
    raise NoAnswer("the card is not charged yet for what the licence says")


def _plan(variant: str) -> Plan | None:
    names = (name for name, sold in settings.LEMONSQUEEZY_VARIANTS.items() if sold == variant)
    return next((plan_named(name) for name in names), None)


def _till(key: Mapping[str, Any], period: Period, *, now: datetime) -> datetime:
    """A key without a date follows its subscription by its status alone: then it is paid for the running period."""
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
