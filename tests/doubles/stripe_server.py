"""Stripe on loopback: its API as the official library uses it, and webhooks that the double signs and posts to us.

The actions of people and banks are in `world` (`pay`, `decline`, `renew`, `fail`, `refund`, `dispute`,
`cancel_in_portal`). Switches: `fail_next` for time-outs, 429, 5xx and bodies without sense, `lost` for webhooks that
never arrive, `waiting` to hold events back and send them in another order, `endless` for a list that always has more,
`lies` for objects with wrong content.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

from tests.doubles import stripe_payouts
from tests.doubles.stripe_protocol import PARAMETERS, Json, StripeRefusal, check_parameters, form, signature
from tests.doubles.stripe_world import StripeObjects

KEY = "sk_test_double00000000000000"
SECRET = "whsec_double0000000000000000"  # only the double uses it
LEAST_LIFE, LONGEST_LIFE = 30 * 60, 24 * 3600  # seconds that a Checkout Session may live
OURS = re.compile(r"_(line|data|payments|interval)")  # the double's own internal fields

# Posts the body to the webhook with its signature; returns the HTTP status.
Post = Callable[[str, str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class StripeFault:
    """How the next call fails. `done` says whether the call takes effect anyway."""

    status: int = 500
    body: bytes = b"{}"
    seconds: float = 0
    drip: float = 0
    done: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    fields: Json
    key: str
    version: str


class StripeDouble:
    def __init__(self, post: Post | None = None) -> None:
        self.post = post
        self.secret = SECRET
        self.lost = False
        self.waiting = False
        self.endless = False
        self.told: list[int] = []
        self.calls: list[Call] = []
        self.lies: dict[str, Json] = {}
        self.world = StripeObjects(self._happened)
        self._queued: list[Json] = []
        self._answering: set[threading.Thread] = set()
        self._faults: dict[str, list[StripeFault]] = {}
        self._answers: dict[str, tuple[str, Json, int, Json]] = {}
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.double = self
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    # Webhooks.

    def _happened(self, event: Json) -> None:
        """Send the event; an event caused by our own API call is sent after the answer to that call."""
        if self.waiting:
            return
        if threading.current_thread() in self._answering:
            self._queued.append(event)
        else:
            self.tell(event)

    def tell_the_rest(self) -> None:
        while self._queued:
            self.tell(self._queued.pop(0))

    def tell(self, event: Json, *, secret: str = "", at: int | None = None) -> int | None:
        """Post an event to the webhook; a test may repeat this. Returns the HTTP status; None if it is lost."""
        if self.lost or self.post is None:
            return None
        body = wire(event)
        header = signature(body, secret=secret or self.secret, at=int(time.time()) if at is None else at)
        self.told.append(self.post(body, header))
        return self.told[-1]

    # The API.

    def fail_next(self, name: str, *faults: StripeFault) -> None:
        """Make the next calls fail. `name` is a method and a path, such as `GET /v1/invoices`."""
        self._faults.setdefault(name, []).extend(faults)

    def fault_of(self, call: str) -> StripeFault | None:
        with self.world.lock:
            waiting = next((faults for name, faults in self._faults.items() if call.startswith(name) and faults), None)
            return waiting.pop(0) if waiting else None

    def called(self, name: str) -> list[Json]:
        return [call.fields for call in self.calls if call.name == name]

    def answer(self, method: str, path: str, fields: Json, headers: dict[str, str]) -> tuple[int, Json]:
        with self.world.lock:
            self._answering.add(threading.current_thread())
            try:
                return self._answer(method, path, fields, headers)
            except StripeRefusal as refusal:
                return refusal.status, refusal.body
            finally:
                self._answering.discard(threading.current_thread())

    def _answer(self, method: str, path: str, fields: Json, headers: dict[str, str]) -> tuple[int, Json]:
        if headers.get("authorization") != f"Bearer {KEY}":
            raise StripeRefusal("Invalid API Key provided", status=401)
        call, name = _call(method, path)
        if call not in PARAMETERS:
            raise StripeRefusal(f"Unrecognized request URL ({method}: {path}).", status=404)
        key = headers.get("idempotency-key", "")
        self.calls.append(Call(call, fields, key, headers.get("stripe-version", "")))
        if method == "POST" and key in self._answers:
            return self._again(key, call, fields)
        check_parameters(call, fields)
        shown = _shown(self._do(call, name, fields))
        if method == "POST" and key:
            self._answers[key] = (call, fields, 200, shown)
        return 200, shown

    def _again(self, key: str, call: str, fields: Json) -> tuple[int, Json]:
        before, sent, status, shown = self._answers[key]
        if (before, sent) != (call, fields):
            raise StripeRefusal(
                "Keys for idempotent requests can only be used with the same parameters.", kind="idempotency_error"
            )
        return status, shown

    def _do(self, call: str, name: str, fields: Json) -> Json:
        done: dict[str, Callable[[], Json]] = {
            "POST /v1/customers": lambda: self.world.new(
                "cus", "customer", email=fields.get("email"), metadata=fields.get("metadata", {})
            ),
            "DELETE /v1/customers/*": lambda: self.world.forget(name),
            "POST /v1/checkout/sessions": lambda: self._check_out(fields),
            "POST /v1/checkout/sessions/*/expire": lambda: self._close(name),
            "POST /v1/subscriptions/*": lambda: self._update(name, fields),
            "DELETE /v1/subscriptions/*": lambda: self.world.end(name),
            "POST /v1/refunds": lambda: self._refund(fields),
            "GET /v1/refunds": lambda: self._refunds(fields),
            "POST /v1/billing_portal/sessions": lambda: self._portal(fields),
            "GET /v1/events": lambda: self._events(fields),
            "GET /v1/invoice_payments": lambda: self._invoice_payments(fields),
            "GET /v1/payouts": lambda: {
                "object": "list",
                **_a_page(stripe_payouts.payouts(self.world, fields), fields),
            },
            "GET /v1/balance_transactions": lambda: {
                "object": "list",
                **_a_page(stripe_payouts.movements(self.world, fields), fields),
            },
        }
        return done[call]() if call in done else self._read(call, name, fields)

    def _portal(self, fields: Json) -> Json:
        self.world.get(fields["customer"], "customer")
        address = {"url": "https://billing.stripe.example/p/session/1", "return_url": fields.get("return_url")}
        return {"id": "bps_1", "object": "billing_portal.session", "customer": fields["customer"], **address}

    def _read(self, call: str, name: str, fields: Json) -> Json:
        kinds = {"sessions": "checkout.session", "subscriptions": "subscription", "invoices": "invoice"}
        kinds |= {"charges": "charge", "disputes": "dispute", "tax_rates": "tax_rate"}
        found = {**self.world.get(name, kinds[call.split("/")[-2]])}
        if found["object"] == "invoice" and "payments" in fields.get("expand", []):
            found["payments"] = {"object": "list", "data": found["_payments"]}
        return {**found, **self.lies.get(name, {})}

    def _check_out(self, fields: Json) -> Json:
        line, taxed = fields["line_items"][0], fields.get("automatic_tax", {}).get("enabled") == "true"
        self.world.get(fields["customer"], "customer")
        _must(fields["mode"] == "subscription" and "recurring" in line["price_data"], "mode")
        _must(int(line["price_data"]["unit_amount"]) > 0 and line["quantity"] == "1", "line_items")
        _must(LEAST_LIFE <= int(fields["expires_at"]) - int(time.time()) <= LONGEST_LIFE, "expires_at")
        _must(not taxed or fields.get("customer_update", {}).get("address") == "auto", "customer_update[address]")
        session = self.world.new(
            "cs",
            "checkout.session",
            mode="subscription",
            status="open",
            payment_status="unpaid",
            customer=fields["customer"],
            client_reference_id=fields.get("client_reference_id"),
            metadata=fields.get("metadata", {}),
            expires_at=int(fields["expires_at"]),
            subscription=None,
            success_url=fields["success_url"],
            automatic_tax={"enabled": taxed},
        )
        session["url"] = f"https://checkout.stripe.example/c/pay/{session['id']}#fidkdWxOYHwnPyd1blpx"
        session["_line"], session["_data"] = line, fields.get("subscription_data", {})
        return session

    def _close(self, name: str) -> Json:
        session = self.world.get(name, "checkout.session")
        _must(session["status"] == "open", 'Only Checkout Sessions with a status in ["open"] can be expired')
        session.update(status="expired", url=None)
        return session

    def _update(self, name: str, fields: Json) -> Json:
        _must(len(fields["items"]) == 1, "items")
        _must(fields.get("proration_behavior") == "none", "without it Stripe would charge for what is left")
        return self.world.reprice(name, fields["items"][0])

    def _refund(self, fields: Json) -> Json:
        charge = fields.get("charge") or self.world.get(fields["payment_intent"], "payment_intent")["latest_charge"]
        return self.world.refund(str(charge), int(fields["amount"]) if "amount" in fields else None)

    def _refunds(self, fields: Json) -> Json:
        found = [one for one in reversed(self.world.all("refund")) if one["charge"] == fields["charge"]]
        if self.endless:
            return {"object": "list", "url": "/v1/refunds", "data": found, "has_more": True}
        return {"object": "list", "url": "/v1/refunds", **_a_page(found, fields)}

    def _events(self, fields: Json) -> Json:
        kinds, since = fields.get("types"), int(fields.get("created", {}).get("gte", 0))
        until = int(fields.get("created", {}).get("lte", 2**40))
        found = [one for one in reversed(self.world.events) if since <= one["created"] <= until]
        found = [one for one in found if kinds is None or one["type"] in kinds]
        return {"object": "list", "url": "/v1/events", **_a_page(found, fields)}

    def _invoice_payments(self, fields: Json) -> Json:
        wanted = fields["payment"]["payment_intent"]
        every = (paid for one in self.world.all("invoice") for paid in one["_payments"])
        found = [one for one in every if one["payment"]["payment_intent"] == wanted]
        return {"object": "list", "url": "/v1/invoice_payments", "data": found, "has_more": False}


def _a_page(found: list[Json], fields: Json) -> Json:
    if "starting_after" in fields:
        names = [one["id"] for one in found]
        found = found[names.index(fields["starting_after"]) + 1 :]
    limit = int(fields.get("limit", 10))
    return {"data": found[:limit], "has_more": len(found) > limit}


def wire(event: Json) -> str:
    """The body of the webhook for this event."""
    return json.dumps(_shown(event))


def _call(method: str, path: str) -> tuple[str, str]:
    """The call's pattern and the object's id: `GET /v1/invoices/in_1` is the call `GET /v1/invoices/*` of in_1."""
    parts = path.split("/")
    name = next((part for part in parts if re.search(r"_\w*\d", part) and part != "v1"), "")
    return f"{method} {'/'.join('*' if part == name and name else part for part in parts)}", name


def _must(holds: bool, problem: str) -> None:
    if not holds:
        raise StripeRefusal(problem)


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shown(one) for name, one in value.items() if not OURS.fullmatch(name)}
    return [_shown(one) for one in value] if isinstance(value, list) else value


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    double: StripeDouble


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def do_GET(self) -> None:
        self._serve(form(urlsplit(self.path).query))

    def do_DELETE(self) -> None:
        self._serve({**form(urlsplit(self.path).query), **self._form()})

    def do_POST(self) -> None:
        self._serve(self._form())

    def _form(self) -> Json:
        return form(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())

    def _serve(self, fields: Json) -> None:
        path = urlsplit(self.path).path
        headers = {name.lower(): value for name, value in self.headers.items()}
        fault = self.server.double.fault_of(f"{self.command} {path}")
        if fault is None:
            status, shown = self.server.double.answer(self.command, path, fields, headers)
            self._reply(status, json.dumps(shown).encode())
            return
        if fault.done:
            self.server.double.answer(self.command, path, fields, headers)
        time.sleep(fault.seconds)
        self._reply(fault.status, fault.body, drip=fault.drip)

    def _reply(self, status: int, body: bytes, *, drip: float = 0) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Request-Id", "req_double")
            self.end_headers()
            for start in range(0, len(body), 1 if drip else len(body) or 1):
                time.sleep(drip)
                self.wfile.write(body[start : start + 1] if drip else body)
        except OSError:
            self.close_connection = True  # the client has given up

    def log_message(self, *_: object) -> None:
        """Log nothing: tests read the calls."""
