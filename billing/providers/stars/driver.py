"""Telegram Stars: our bot sells by invoices that can be paid once."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

from agents.models import Agent
from billing.models import Order, Payment, StarsOrder
from billing.providers.base import Currency, ProviderDriver, ProviderOffer
from billing.providers.stars import bot, charges, orders, refunds, telegram
from billing.vocabulary import OrderStatus, Period, Provider
from config.operator_settings import operator_settings


class Stars(Currency):
    code = telegram.CURRENCY
    name = "Telegram Stars"

    def decimals(self, payment: Payment | None = None) -> int:
        return 0


class StarsDriver(ProviderDriver):
    name = "Telegram Stars"
    ordered_at = "/stars/orders"
    sends_back = returns_strays = True
    taken_late = orders.HOLD
    currency = Stars()

    @property
    def offer(self) -> ProviderOffer:
        username = operator_settings.STARS_BOT_USERNAME
        return ProviderOffer(
            id=Provider.STARS,
            label="Telegram Stars",
            active=bot.is_configured(),
            buy_url=f"https://t.me/{username}" if username else None,
            note="POST /stars/orders makes an invoice; anybody can pay it in Telegram.",
        )

    def order(self, agent: Agent, *, tier: str, period: Period, coupon: str, now: datetime) -> StarsOrder:
        return orders.order(agent, tier=tier, period=period, coupon=coupon, now=now)

    def money_noted(self, order: Order) -> bool:
        """Whether a payer was allowed to pay: until the hold is over, the payment may follow."""
        held = StarsOrder.objects.filter(pk=order.pk, status=OrderStatus.PENDING, hold_until__gt=timezone.now())
        return held.exists()

    def send_back(self, payment: Payment, *, reason: str, actor: str, now: datetime) -> None:
        if payment.external_id not in charges.settled([payment.external_id])[1]:
            refunds.ask(payment.external_id, reason=reason, actor=actor, now=now)


def driver(_: Provider) -> StarsDriver:
    return StarsDriver()
