"""The part of Telegram's Bot API that selling for stars needs. A driver: it uses no rows and no transaction.

The bot's token is a part of every URL. So exceptions of the HTTP library must not leave this module: they would show
it.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import requests
from django.conf import settings

from config import answers, waiting
from config.errors import Unavailable
from config.operator_settings import operator_settings

log = logging.getLogger(__name__)

TELEGRAM = "https://api.telegram.org"
CONNECT_SECONDS, READ_SECONDS, TOTAL_SECONDS = 2, 4, 6
MAX_BODY_BYTES = 2 * 1_048_576
CURRENCY = "XTR"
UPDATES = ["message", "pre_checkout_query"]
PAGE = 100  # transactions in one answer
MAX_TITLE, MAX_DESCRIPTION = 32, 255
RETRY_SECONDS, REFUSED_SECONDS, MAX_RETRY_SECONDS = 5, 60, 3_600
ALREADY_REFUNDED = "CHARGE_ALREADY_REFUNDED"
USER_AGENT = "agentpods/1.0"

Json = dict[str, Any]


class TelegramAway(Unavailable):
    """No answer, or an unclear one: the call may have been done."""

    def __init__(self, method: str, problem: str, *, retry_after: int = RETRY_SECONDS) -> None:
        super().__init__(f"Telegram: {method}: {problem}; try again", retry_after=retry_after)


class TelegramRefused(Exception):
    """Telegram understood the call and did not do it. `description` is Telegram's reason."""

    def __init__(self, method: str, status: int, description: str) -> None:
        super().__init__(f"{method}: {status}, {description}")
        self.code = status
        self.description = description


def create_invoice_link(*, title: str, description: str, payload: str, stars: int) -> str:
    """The URL of an invoice. Anybody can pay there, any number of times.

    Raises TelegramAway, also if Telegram refuses: usually the bot's token is wrong, and the operator must repair that.
    """
    invoice = {
        "title": title[:MAX_TITLE],
        "description": description[:MAX_DESCRIPTION],
        "payload": payload,
        "provider_token": "",
        "currency": CURRENCY,
        "prices": [{"label": title[:MAX_TITLE], "amount": stars}],
    }
    try:
        link = _call("createInvoiceLink", invoice)
    except TelegramRefused as refusal:
        log.error("Telegram makes no invoice: %s", refusal)
        raise TelegramAway("createInvoiceLink", "refused", retry_after=REFUSED_SECONDS) from refusal
    if not isinstance(link, str) or not link.startswith("https://"):
        raise TelegramAway("createInvoiceLink", "answered without an address")
    return link


def answer_pre_checkout(query_id: str, *, refusal: str | None) -> None:
    """Let the payment go on, or refuse it with a reason. Telegram waits 10 seconds for this answer."""
    answer: Json = {"pre_checkout_query_id": query_id, "ok": refusal is None}
    _call("answerPreCheckoutQuery", answer if refusal is None else {**answer, "error_message": refusal})


def refund(*, payer_id: int, charge_id: str) -> None:
    """Send back a whole charge. Succeeds if it was sent back before."""
    try:
        _call("refundStarPayment", {"user_id": payer_id, "telegram_payment_charge_id": charge_id})
    except TelegramRefused as refusal:
        if ALREADY_REFUNDED not in refusal.description:
            raise


def transactions(*, offset: int, limit: int = PAGE) -> list[Json]:
    """Payments in and out, oldest first, without the first `offset` ones."""
    answer = _call("getStarTransactions", {"offset": offset, "limit": limit})
    found = answer.get("transactions") if isinstance(answer, dict) else None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise TelegramAway("getStarTransactions", "answered without transactions")
    return found


def set_webhook(url: str, *, secret: str) -> None:
    _call("setWebhook", {"url": url, "secret_token": secret, "allowed_updates": UPDATES})


def _call(method: str, fields: Mapping[str, Any]) -> Any:
    """The result of one call. Raises TelegramAway, TelegramRefused."""
    waiting.release_connection()
    status, body = _exchange(method, fields)
    if status == requests.codes.too_many_requests:
        raise TelegramAway(method, "too many requests", retry_after=_retry_after(body))
    if status >= requests.codes.server_error or not isinstance(body, dict):
        raise TelegramAway(method, f"HTTP {status}")
    if body.get("ok") is True and "result" in body:
        return body["result"]
    if status == requests.codes.ok:
        raise TelegramAway(method, "answered neither with a result nor with an error")
    raise TelegramRefused(method, status, str(body.get("description") or "")[:200])


def _exchange(method: str, fields: Mapping[str, Any]) -> tuple[int, Any]:
    """The status and the parsed body. The body is None if it is not JSON."""
    try:
        return _post(method, fields)
    except requests.RequestException as error:
        problem = type(error).__name__
    # outside of `except`, so that the traceback does not show the URL
    raise TelegramAway(method, f"not reached ({problem})")


def _post(method: str, fields: Mapping[str, Any]) -> tuple[int, Any]:
    url = f"{(settings.TELEGRAM_API_URL or TELEGRAM).rstrip('/')}/bot{operator_settings.STARS_BOT_TOKEN}/{method}"
    until = time.monotonic() + TOTAL_SECONDS
    with requests.Session() as session:
        session.trust_env = False
        answer = session.post(
            url,
            json=dict(fields),
            headers={"User-Agent": USER_AGENT},
            timeout=(CONNECT_SECONDS, READ_SECONDS),
            allow_redirects=False,
            stream=True,
        )
        with answer:
            refuse = partial(TelegramAway, method)
            body = answers.body_of(answer, at_most=MAX_BODY_BYTES, until=until, refuse=refuse)
            return answer.status_code, _json(body)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _retry_after(body: Any) -> int:
    """The wait that Telegram asks for, in seconds, at most one hour."""
    parameters = body.get("parameters") if isinstance(body, dict) else None
    asked = parameters.get("retry_after") if isinstance(parameters, dict) else None
    return min(asked, MAX_RETRY_SECONDS) if isinstance(asked, int) and asked > 0 else RETRY_SECONDS
