"""The Telegram Bot API on loopback for a seller of Stars: invoices, pre-checkout, charges, refunds, the transaction
list.

`pay` is a person with the link of an invoice: the pre-checkout query goes to the webhook that the bot has set, and the
payment goes through only if the bot agrees within ten seconds. `tell` sends any update there; a test may repeat it.
Switches: `fail_next` for time-outs, 429, 5xx and wrong bodies, `lost` for a webhook that gets nothing, `shuffled` for a
list in which neighbours have changed places.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

Json = dict[str, Any]
TOKEN = "5551234567:AAtoken-of-the-bot-that-sells"
LATEST_ANSWER_SECONDS = 10.0
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
TOO_OLD = "Bad Request: query is too old and response timeout expired or query ID is invalid"

# Sends an update to the webhook's address with its secret; returns the HTTP status.
Post = Callable[[str, Json, str], int]


class TelegramRefusal(Exception):
    def __init__(self, description: str, *, status: int = 400) -> None:
        super().__init__(description)
        self.status = status
        self.description = description


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramFault:
    """How the next call fails. `done` says whether the call takes effect anyway."""

    status: int = 200
    body: bytes = b""
    seconds: float = 0  # before the answer
    drip: float = 0  # seconds between the bytes of the answer
    done: bool = False

    @classmethod
    def flood(cls, retry_after: int) -> TelegramFault:
        text = f"Too Many Requests: retry after {retry_after}"
        body = {"ok": False, "error_code": 429, "description": text, "parameters": {"retry_after": retry_after}}
        return cls(status=429, body=json.dumps(body).encode())


@dataclass(slots=True)
class _Invoice:
    payload: str
    stars: int


@dataclass(slots=True)
class _Query:
    asked_at: float
    answer: Json | None = None
    answered: threading.Event = field(default_factory=threading.Event)


class TelegramPayments:
    def __init__(self, post: Post | None = None, *, token: str = TOKEN) -> None:
        self.token = token
        self.post = post
        self.lost = False
        self.shuffled = False
        self.webhook: Json = {}
        self.calls: list[tuple[str, Json]] = []
        self.transactions: list[Json] = []
        self._faults: dict[str, list[TelegramFault]] = {}
        self._invoices: dict[str, _Invoice] = {}
        self._queries: dict[str, _Query] = {}
        self._charges: dict[str, Json] = {}
        self._refunded: set[str] = set()
        self._numbers = itertools.count(1000)
        self._lock = threading.RLock()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.double = self
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # Actions of people.

    def pay(self, link: str, *, person: int = 77) -> Json | None:
        """Open the link and pay. Returns the charge, or None when the bot refused or did not answer in time."""
        query = self.check_out(link, person=person)
        return self.charge(link, person=person) if query.get("ok") else None

    def check_out(self, link: str, *, person: int = 77, amount: int | None = None, currency: str = "XTR") -> Json:
        """Send the pre-checkout query, and return the bot's answer: `ok`, `error_message`. Nothing is charged."""
        query_id = str(next(self._numbers))
        self._queries[query_id] = _Query(time.monotonic())
        invoice = self._invoices[link]
        query = {
            "id": query_id,
            "from": _person(person),
            "currency": currency,
            "total_amount": invoice.stars if amount is None else amount,
            "invoice_payload": invoice.payload,
        }
        self.tell({"pre_checkout_query": query})
        answer = self._queries[query_id].answer
        return answer or {"ok": False, "error_message": "The bot did not answer"}

    def charge(self, link: str, *, person: int = 77, amount: int | None = None, currency: str = "XTR") -> Json:
        """Take the stars: the list has the charge, the webhook gets an update. Returns the successful_payment."""
        invoice = self._invoices[link]
        stars = invoice.stars if amount is None else amount
        return self.charge_for(invoice.payload, stars=stars, person=person, currency=currency)

    def charge_for(self, payload: str, *, stars: int, person: int = 77, currency: str = "XTR") -> Json:
        charge_id = f"stxCHARGE{next(self._numbers)}_{random.Random(stars).randrange(10**12)}"
        paid = {
            "currency": currency,
            "total_amount": stars,
            "invoice_payload": payload,
            "telegram_payment_charge_id": charge_id,
            "provider_payment_charge_id": f"{person}_{charge_id}",
        }
        with self._lock:
            self._charges[charge_id] = {**paid, "person": person}
            self.transactions.append(_entry(charge_id, stars, source=_partner(person, payload)))
        self.tell(message_of(paid, "successful_payment", person=person))
        return paid

    def refund_by_support(self, paid: Json) -> Json:
        """Telegram itself sends a charge back. Returns the message about it."""
        charge_id = paid["telegram_payment_charge_id"]
        person = self._charges[charge_id]["person"]
        self._refund({"user_id": person, "telegram_payment_charge_id": charge_id})
        told = message_of(paid, "refunded_payment", person=person)
        self.tell(told)
        return told

    def tell(self, update: Json, *, secret: str | None = None) -> int | None:
        """Send an update to the webhook. Returns the status, or None when the update is lost or there is no webhook."""
        if self.lost or self.post is None or not self.webhook:
            return None
        shown = self.webhook["secret_token"] if secret is None else secret
        kind = next(name for name in update if name != "update_id")
        if kind not in self.webhook["allowed_updates"]:
            return None
        return self.post(self.webhook["url"], {"update_id": next(self._numbers), **update}, shown)

    # Actions of the server.

    def fail_next(self, method: str, *faults: TelegramFault) -> None:
        self._faults.setdefault(method, []).extend(faults)

    def fault_of(self, method: str) -> TelegramFault | None:
        with self._lock:
            waiting = self._faults.get(method)
            return waiting.pop(0) if waiting else None

    def called(self, method: str) -> list[Json]:
        return [fields for name, fields in self.calls if name == method]

    def answer(self, path: str, fields: Json) -> Any:
        """The result of a call. Raises Refused."""
        shown, _, method = path.removeprefix("/bot").partition("/")
        if shown != self.token:
            raise TelegramRefusal("Unauthorized", status=401)
        with self._lock:
            self.calls.append((method, fields))
            answers: dict[str, Callable[[Json], Any]] = {
                "createInvoiceLink": self._create_invoice_link,
                "answerPreCheckoutQuery": self._answer_query,
                "refundStarPayment": self._refund,
                "getStarTransactions": self._list,
                "setWebhook": self._set_webhook,
            }
            if method not in answers:
                raise TelegramRefusal("Not Found", status=404)
            return answers[method](fields)

    def _create_invoice_link(self, fields: Json) -> str:
        prices = fields.get("prices")
        _check(1 <= len(str(fields.get("title", ""))) <= 32, "TITLE_INVALID")
        _check(1 <= len(str(fields.get("description", ""))) <= 255, "DESCRIPTION_INVALID")
        _check(1 <= len(str(fields.get("payload", "")).encode()) <= 128, "INVOICE_PAYLOAD_INVALID")
        _check(fields.get("currency") == "XTR" and fields.get("provider_token", "") == "", "CURRENCY_INVALID")
        _check(isinstance(prices, list) and len(prices) == 1, "STARS_INVOICE_INVALID")
        stars = prices[0].get("amount")  # type: ignore[index]  # checked above
        _check(isinstance(stars, int) and stars > 0, "CURRENCY_TOTAL_AMOUNT_INVALID")
        link = f"https://t.me/$invoice{next(self._numbers)}"
        self._invoices[link] = _Invoice(str(fields["payload"]), int(stars))
        return link

    def _answer_query(self, fields: Json) -> bool:
        query = self._queries.get(str(fields.get("pre_checkout_query_id")))
        if query is None or query.answer or time.monotonic() - query.asked_at > LATEST_ANSWER_SECONDS:
            raise TelegramRefusal(TOO_OLD)
        _check(fields.get("ok") is True or bool(fields.get("error_message")), "error message is empty")
        query.answer = fields
        query.answered.set()
        return True

    def _refund(self, fields: Json) -> bool:
        charge_id = str(fields.get("telegram_payment_charge_id"))
        charge = self._charges.get(charge_id)
        _check(charge is not None and charge["person"] == fields.get("user_id"), "CHARGE_NOT_FOUND")
        _check(charge_id not in self._refunded, "CHARGE_ALREADY_REFUNDED")
        self._refunded.add(charge_id)
        paid: Json = charge or {}
        partner = _partner(paid["person"], paid["invoice_payload"])
        self.transactions.append(_entry(charge_id, paid["total_amount"], receiver=partner))
        return True

    def _list(self, fields: Json) -> Json:
        offset, limit = int(fields.get("offset", 0)), int(fields.get("limit", 100))
        _check(offset >= 0 and 1 <= limit <= 100, "LIMIT_INVALID")
        found = self.transactions[offset : offset + limit]
        return {"transactions": random.Random(len(found)).sample(found, len(found)) if self.shuffled else found}

    def _set_webhook(self, fields: Json) -> bool:
        _check(_SECRET.fullmatch(str(fields.get("secret_token", "x"))) is not None, "secret token is invalid")
        self.webhook = fields
        return True


def message_of(paid: Json, name: str, *, person: int = 77) -> Json:
    """The update about a payment (`successful_payment`) or about its refund (`refunded_payment`)."""
    who = _person(person)
    chat = {"id": person, "type": "private", "first_name": "Ann"}
    return {"message": {"message_id": 5, "date": int(time.time()), "chat": chat, "from": who, name: paid}}


def _check(holds: bool, problem: str) -> None:
    if not holds:
        raise TelegramRefusal(f"Bad Request: {problem}")


def _person(number: int) -> Json:
    return {"id": number, "is_bot": False, "first_name": "Ann", "language_code": "en"}


def _partner(person: int, payload: str) -> Json:
    who = _person(person)
    return {"type": "user", "transaction_type": "invoice_payment", "user": who, "invoice_payload": payload}


def _entry(charge_id: str, stars: int, **side: Json) -> Json:
    return {"id": charge_id, "amount": stars, "date": int(time.time()), **side}


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    double: TelegramPayments


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def do_POST(self) -> None:
        fields = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        path = urlsplit(self.path).path
        fault = self.server.double.fault_of(path.rpartition("/")[2])
        if fault is None:
            self._reply(*self._answered(path, fields))
            return
        if fault.done:
            self._answered(path, fields)
        time.sleep(fault.seconds)
        self._reply(fault.status, fault.body, drip=fault.drip)

    def _answered(self, path: str, fields: Json) -> tuple[int, bytes]:
        try:
            status, body = 200, {"ok": True, "result": self.server.double.answer(path, fields)}
        except TelegramRefusal as refusal:
            status = refusal.status
            body = {"ok": False, "error_code": status, "description": refusal.description}
        return status, json.dumps(body).encode()

    def _reply(self, status: int, body: bytes, *, drip: float = 0) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            for start in range(0, len(body), 1 if drip else len(body) or 1):
                time.sleep(drip)
                self.wfile.write(body[start : start + 1] if drip else body)
        except OSError:
            self.close_connection = True  # the client has given up

    def log_message(self, *_: object) -> None:
        """Log nothing: tests read the calls."""
