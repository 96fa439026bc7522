"""The bot that sells: its settings, the secret that it shares with Telegram, and its webhook."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from django.conf import settings
from django.db.models import Max

from billing.errors import NotConfigured
from billing.models import StarsFeed
from billing.providers.stars import telegram
from billing.vocabulary import Provider
from config import crypto
from config.errors import BadRequest, Unauthorized
from config.operator_settings import operator_settings
from config.operator_settings.models import SettingChange
from config.operator_settings.registry import STARS_BOT

CALLBACK = "/payments/stars/callback"
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StarsInfo:
    """The public data about stars (docs/spec.md: StarsInfo)."""

    enabled: bool
    bot_username: str
    star_usd: Decimal


class NotTelegram(Unauthorized):
    message = "X-Telegram-Bot-Api-Secret-Token: missing or wrong; this address is only for Telegram"


def info() -> StarsInfo:
    return StarsInfo(
        enabled=is_configured(), bot_username=operator_settings.STARS_BOT_USERNAME, star_usd=operator_settings.STAR_USD
    )


def is_configured() -> bool:
    return bool(
        operator_settings.STARS_BOT_TOKEN
        and operator_settings.STARS_BOT_USERNAME
        and _SECRET.fullmatch(operator_settings.STARS_WEBHOOK_SECRET)
    )


def check_secret(shown: str) -> None:
    """Raises NotTelegram unless this is the secret of our webhook.

    Without a secret in the settings, all calls are refused.
    """
    if not operator_settings.STARS_WEBHOOK_SECRET or not crypto.same(shown, operator_settings.STARS_WEBHOOK_SECRET):
        raise NotTelegram


def set_webhook() -> str:
    """Set the bot's webhook at Telegram, so that it reports payments. Returns the URL. Calling this twice is harmless.

    Raises NotConfigured, TelegramAway, TelegramRefused, and BadRequest for a secret that Telegram would not accept.
    """
    if operator_settings.STARS_WEBHOOK_SECRET and not _SECRET.fullmatch(operator_settings.STARS_WEBHOOK_SECRET):
        raise BadRequest("STARS_WEBHOOK_SECRET: must have 1 to 256 of A-Z, a-z, 0-9, _ and -")
    if not is_configured():
        raise NotConfigured("stars", Provider.STARS)
    url = f"{settings.BASE_URL}{CALLBACK}"
    telegram.set_webhook(url, secret=operator_settings.STARS_WEBHOOK_SECRET)
    return url


def follow(mark: StarsFeed) -> None:
    """Set the webhook again if an operator has changed something of the bot since it was set.

    Raises NotConfigured, TelegramAway and TelegramRefused. What the environment changes is followed by
    `set_stars_webhook`.
    """
    newest = SettingChange.objects.filter(name__in=STARS_BOT).aggregate(id=Max("id"))["id"]
    if newest is not None and mark.webhook_change != newest:
        set_webhook()
        StarsFeed.objects.filter(pk=mark.pk).update(webhook_change=newest)
