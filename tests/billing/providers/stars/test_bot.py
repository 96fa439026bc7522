"""Telegram gets the webhook of the bot again after an operator has changed what belongs to the bot."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from billing.models import StarsFeed
from billing.providers.stars import feed
from config.operator_settings import choosing
from tests.doubles.telegram_payments_server import TelegramPayments

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


def choose(name: str, text: str) -> None:
    choosing.choose(name, text, actor="operator:usr_1", now=NOON)


def shown(telegram: TelegramPayments) -> str:
    assert telegram.webhook
    return str(telegram.webhook["secret_token"])


def test_a_new_secret_reaches_telegram_once(telegram: TelegramPayments) -> None:
    telegram.webhook = {}
    feed.reconcile(now=NOON)
    assert not telegram.webhook, "no operator has changed anything"
    choose("STARS_WEBHOOK_SECRET", "the-new-secret")
    feed.reconcile(now=NOON)
    assert shown(telegram) == "the-new-secret"
    telegram.webhook = {}
    feed.reconcile(now=NOON)
    assert not telegram.webhook, "Telegram has this secret already"
    choosing.reset("STARS_WEBHOOK_SECRET", actor="operator:usr_1", now=NOON)
    feed.reconcile(now=NOON)
    assert shown(telegram) != "the-new-secret", "the one of the environment"


def test_what_telegram_refuses_is_tried_again(telegram: TelegramPayments, caplog: pytest.LogCaptureFixture) -> None:
    choose("STARS_BOT_TOKEN", "1:the-wrong-token")
    assert feed.reconcile(now=NOON) == 0
    assert "our webhook not be set" in caplog.text
    assert "the-wrong-token" not in caplog.text
    assert StarsFeed.objects.get().webhook_change is None
    choosing.reset("STARS_BOT_TOKEN", actor="operator:usr_1", now=NOON)
    telegram.webhook = {}
    feed.reconcile(now=NOON)
    assert telegram.webhook
