"""A bot that sells for Stars, at a server that speaks the real Bot API; its webhook reaches our views."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from rest_framework.test import APIClient

from tests.doubles.telegram_payments_server import TOKEN, Json, TelegramPayments

SECRET = "what_Telegram-shows-us"


def deliver(url: str, update: Json, secret: str) -> int:
    """Call our webhook as Telegram does."""
    caller = APIClient(raise_request_exception=False)
    headers = {"HTTP_X_TELEGRAM_BOT_API_SECRET_TOKEN": secret, "SERVER_NAME": "127.0.0.1"}
    return int(caller.post(urlsplit(url).path, update, format="json", **headers).status_code)  # type: ignore[arg-type]


def configured(settings: Any, url: str) -> None:
    settings.TELEGRAM_API_URL = url
    settings.STARS_BOT_TOKEN, settings.STARS_BOT_USERNAME = TOKEN, "agentpods_bot"
    settings.STARS_WEBHOOK_SECRET = SECRET


@pytest.fixture
def telegram(settings: Any) -> Iterator[TelegramPayments]:
    with TelegramPayments(deliver) as double:
        configured(settings, double.url)
        call_command("set_stars_webhook", verbosity=0)
        yield double
