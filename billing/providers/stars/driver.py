"""Telegram Stars: our bot sells by invoices that can be paid once (billing/providers/stars/)."""

from __future__ import annotations

from django.conf import settings
from django.utils import timezone

from billing.models import Order, StarsOrder
from billing.providers.base import ProviderDriver, ProviderOffer
from billing.providers.stars import bot
from billing.vocabulary import OrderStatus, Provider


class StarsDriver:
    @property
    def offer(self) -> ProviderOffer:
        username = settings.STARS_BOT_USERNAME
        return ProviderOffer(
            id=Provider.STARS,
            label="Telegram Stars",
            active=bot.is_configured(),
            buy_url=f"https://t.me/{username}" if username else None,
            note="POST /stars/orders makes an invoice; anybody can pay it in Telegram.",
        )

    def money_seen(self, order: Order) -> bool:
        """Whether a payer was allowed to pay: until the hold is over, the payment may follow."""
        held = StarsOrder.objects.filter(pk=order.pk, status=OrderStatus.PENDING, hold_until__gt=timezone.now())
        return held.exists()

    def money_noted(self, order: Order) -> bool:
        return self.money_seen(order)


def driver(_: Provider) -> ProviderDriver:
    return StarsDriver()
