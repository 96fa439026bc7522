"""The driver of the Bot API: what counts as an answer, what does not, and that the token never leaks."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

from billing.providers.stars import telegram
from billing.providers.stars.telegram import TelegramAway, TelegramRefused
from tests.billing.providers.stars.bot import configured
from tests.doubles.telegram_payments_server import TOKEN, TelegramFault, TelegramPayments

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]


@pytest.fixture
def server(settings: Any) -> Iterator[TelegramPayments]:
    with TelegramPayments() as double:
        configured(settings, double.url)
        yield double


@pytest.mark.parametrize(
    ("fault", "retry_after"),
    [
        (TelegramFault.flood(30), "30"),
        (TelegramFault.flood(10**9), "3600"),
        (TelegramFault(status=429, body=b"slow down"), "5"),
        (TelegramFault(status=502, body=b"<html>"), "5"),
        (TelegramFault(status=302, body=b""), "5"),
        (TelegramFault(body=b"null"), "5"),
        (TelegramFault(body=b'{"ok": false}'), "5"),
        (TelegramFault(body=b'{"ok": true, "result": "no address"}'), "5"),
        (TelegramFault(body=b"[" * 100_000), "5"),
    ],
)
def test_what_is_no_answer_says_nothing_of_what_became_of_the_call(
    server: TelegramPayments, fault: TelegramFault, retry_after: str
) -> None:
    server.fail_next("createInvoiceLink", fault)
    with pytest.raises(TelegramAway) as away:
        telegram.create_invoice_link(title="t", description="d", payload="p", stars=1)
    assert away.value.headers["Retry-After"] == retry_after


def test_a_server_that_is_silent_or_gone_is_given_up(
    server: TelegramPayments, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telegram, "READ_SECONDS", 0.05)
    server.fail_next("setWebhook", TelegramFault(seconds=0.5))
    with pytest.raises(TelegramAway, match="ReadTimeout"):
        telegram.set_webhook("https://us.example/x", secret="s")
    settings.TELEGRAM_API_URL = "http://127.0.0.1:9"
    with pytest.raises(TelegramAway, match="ConnectionError"):
        telegram.set_webhook("https://us.example/x", secret="s")


def test_an_answer_that_drips_in_is_given_up(server: TelegramPayments, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telegram, "TOTAL_SECONDS", 0.1)
    server.fail_next("setWebhook", TelegramFault(body=b'{"ok": true, "result": true}', drip=0.02))
    with pytest.raises(TelegramAway, match="not in time"):
        telegram.set_webhook("https://us.example/x", secret="s")


def test_a_refusal_carries_telegrams_own_words(server: TelegramPayments) -> None:
    with pytest.raises(TelegramRefused, match="400, Bad Request: CHARGE_NOT_FOUND"):
        telegram.refund(payer_id=1, charge_id="none")


def test_the_token_is_in_no_error_and_no_log(
    server: TelegramPayments, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    settings.TELEGRAM_API_URL = "http://127.0.0.1:9"
    with pytest.raises(TelegramAway) as away:
        telegram.refund(payer_id=1, charge_id="none")
    assert TOKEN not in "".join(traceback.format_exception(away.value)) + caplog.text


def test_titles_and_descriptions_are_cut_to_what_telegram_takes(server: TelegramPayments) -> None:
    assert telegram.create_invoice_link(title="t" * 90, description="d" * 900, payload="p", stars=1)
