"""Telegram's calls of our webhook."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from rest_framework.test import APIClient

from billing.models import Payment, StarsOrder, StrayCharge
from tests.billing.providers.stars.bot import SECRET, deliver
from tests.doubles.telegram_payments_server import Json, TelegramFault, TelegramPayments, message_of

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]

CALLBACK = "/payments/stars/callback"


@pytest.mark.parametrize("secret", [None, "", "wrong", "ключ", SECRET[:-1], SECRET.upper()])
@pytest.mark.parametrize("body", [b"{not json", b'{"update_id": 1}'])
def test_without_the_secret_nothing_is_read(
    api: APIClient, telegram: TelegramPayments, secret: str | None, body: bytes
) -> None:
    headers = {} if secret is None else {"HTTP_X_TELEGRAM_BOT_API_SECRET_TOKEN": secret}
    answer = api.post(CALLBACK, body, content_type="application/json", **headers)  # type: ignore[arg-type]
    assert (answer.status_code, answer.json()["error"]) == (401, "UNAUTHORIZED")


def test_while_nothing_is_configured_an_empty_secret_is_wrong_too(api: APIClient) -> None:
    answer = api.post(CALLBACK, {}, format="json", HTTP_X_TELEGRAM_BOT_API_SECRET_TOKEN="")
    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("update", "status"),
    [
        ({"message": {"text": "hello"}}, 200),
        ({"edited_message": {}}, 200),
        ({}, 200),
        ({"message": "hello"}, 400),
        ({"pre_checkout_query": {"id": "1"}}, 400),
        ({"message": {"from": {"id": 1}, "successful_payment": {"currency": "XTR"}}}, 400),
        ({"message": {"from": {"id": 1}, "successful_payment": None}}, 400),
    ],
)
def test_other_messages_are_none_of_our_business_and_broken_ones_are_refused(
    api: APIClient, telegram: TelegramPayments, update: Any, status: int
) -> None:
    answer = api.post(CALLBACK, update, format="json", HTTP_X_TELEGRAM_BOT_API_SECRET_TOKEN=SECRET)
    assert answer.status_code == status
    if status == 200:
        assert answer.json() == {"ok": True}
    assert not Payment.objects.exists()


@pytest.mark.parametrize("amount", [0, -5, True, "385", 1.5, 2**60, None])
def test_an_amount_that_is_no_number_of_stars_is_refused(
    api: APIClient, order: StarsOrder, telegram: TelegramPayments, amount: Any
) -> None:
    paid = {"currency": "XTR", "total_amount": amount, "invoice_payload": order.pk, "telegram_payment_charge_id": "c"}
    assert telegram.tell(message_of(paid, "successful_payment")) == 400
    assert not StrayCharge.objects.exists()


def test_when_the_answer_does_not_get_there_telegram_is_asked_to_tell_again(
    order: StarsOrder, telegram: TelegramPayments
) -> None:
    told = []

    def post(url: str, update: Json, secret: str) -> int:
        told.append(deliver(url, update, secret))
        return told[-1]

    telegram.post = post
    telegram.fail_next("answerPreCheckoutQuery", TelegramFault(status=500, body=b""))
    assert not telegram.check_out(order.invoice_link)["ok"]
    assert telegram.check_out(order.invoice_link)["ok"]
    assert told == [503, 200]


def test_an_answer_that_comes_too_late_is_not_asked_for_again(
    telegram: TelegramPayments, order: StarsOrder, caplog: pytest.LogCaptureFixture
) -> None:
    query = {"id": "8", "from": {"id": 7}, "currency": "XTR", "total_amount": 385, "invoice_payload": order.pk}
    assert telegram.tell({"pre_checkout_query": query}) == 200
    assert [record.levelno for record in caplog.records if record.name == "billing.providers.stars.callback"] == [
        logging.ERROR
    ]


def test_the_webhook_is_set_with_its_secret_and_both_kinds_of_update(telegram: TelegramPayments, settings: Any) -> None:
    assert telegram.webhook == {
        "url": f"{settings.BASE_URL}{CALLBACK}",
        "secret_token": SECRET,
        "allowed_updates": ["message", "pre_checkout_query"],
    }


def test_the_webhook_is_not_set_with_settings_that_cannot_work(telegram: TelegramPayments, settings: Any) -> None:
    settings.STARS_BOT_TOKEN = "wrong"
    with pytest.raises(CommandError, match="setWebhook: 401"):
        call_command("set_stars_webhook")
    settings.STARS_WEBHOOK_SECRET = "no spaces please"
    with pytest.raises(CommandError, match="STARS_WEBHOOK_SECRET"):
        call_command("set_stars_webhook")
    settings.STARS_WEBHOOK_SECRET = ""
    with pytest.raises(CommandError, match="soon"):
        call_command("set_stars_webhook")
