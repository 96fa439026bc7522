"""The format of Stripe's API: forms with brackets, errors, and the names in the published API.

The official library is generated from Stripe's OpenAPI document. Its types say which parameters a call takes and which
fields an object has. The double refuses all others.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import types
import typing
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from stripe import params as published
from stripe._request_options import RequestOptions
from stripe.params import billing_portal, checkout
from typing_extensions import is_typeddict

Json = dict[str, Any]

_PART = re.compile(r"[^\[\]]+|\[\]")
_LOCALS = {"StripeContext": object, "Mapping": Mapping}

# The parameters of each call, by method and path pattern.
PARAMETERS: dict[str, type] = {
    "POST /v1/customers": published.CustomerCreateParams,
    "DELETE /v1/customers/*": published.CustomerDeleteParams,
    "POST /v1/checkout/sessions": checkout.SessionCreateParams,
    "GET /v1/checkout/sessions/*": checkout.SessionRetrieveParams,
    "POST /v1/checkout/sessions/*/expire": checkout.SessionExpireParams,
    "GET /v1/subscriptions/*": published.SubscriptionRetrieveParams,
    "POST /v1/subscriptions/*": published.SubscriptionUpdateParams,
    "DELETE /v1/subscriptions/*": published.SubscriptionCancelParams,
    "GET /v1/invoices/*": published.InvoiceRetrieveParams,
    "GET /v1/invoice_payments": published.InvoicePaymentListParams,
    "GET /v1/tax_rates/*": published.TaxRateRetrieveParams,
    "GET /v1/charges/*": published.ChargeRetrieveParams,
    "GET /v1/disputes/*": published.DisputeRetrieveParams,
    "POST /v1/refunds": published.RefundCreateParams,
    "GET /v1/refunds": published.RefundListParams,
    "POST /v1/billing_portal/sessions": billing_portal.SessionCreateParams,
    "GET /v1/events": published.EventListParams,
    "GET /v1/payouts": published.PayoutListParams,
    "GET /v1/balance_transactions": published.BalanceTransactionListParams,
}


class StripeRefusal(Exception):
    """An error in Stripe's format."""

    def __init__(self, message: str, *, status: int = 400, kind: str = "invalid_request_error", code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.body: Json = {"error": {"type": kind, "message": message, **({"code": code} if code else {})}}


def missing(kind: str, name: str) -> StripeRefusal:
    return StripeRefusal(f"No such {kind}: '{name}'", status=404, code="resource_missing")


def form(text: str) -> Json:
    """The form `a[b][0][c]=1&expand[0]=x` as objects and lists."""
    found: Json = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        _put(found, _PART.findall(name), value)
    listed = _lists(found)
    return listed if isinstance(listed, dict) else {}


def _put(into: Json, path: list[str], value: str) -> None:
    *parents, last = path
    for part in parents:
        into = into.setdefault(str(len(into)) if part == "[]" else part, {})
    into[str(len(into)) if last == "[]" else last] = value


def _lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value and all(name.isdecimal() for name in value):
        return [_lists(value[name]) for name in sorted(value, key=int)]
    return {name: _lists(one) for name, one in value.items()}


def check_parameters(call: str, given: Json) -> None:
    """Raises Refused for an unknown parameter at any depth, and for a missing one."""
    _check(PARAMETERS[call], given, place="", leave_out=set(RequestOptions.__annotations__))


def _check(shape: type, given: Any, *, place: str, leave_out: frozenset[str] | set[str] = frozenset()) -> None:
    hints = {name: hint for name, hint in _hints(shape).items() if name not in leave_out}
    if not isinstance(given, dict):
        raise StripeRefusal(f"Invalid object: {place}")
    for name, value in given.items():
        if name not in hints:
            raise StripeRefusal(f"Received unknown parameter: {place}{name}", code="parameter_unknown")
        for inner, one in _inside(hints[name], value):
            _check(inner, one, place=f"{place}{name}.")
    for name in shape.__required_keys__ - set(leave_out):  # type: ignore[attr-defined]  # a TypedDict's
        if name in hints and name not in given and not _is_optional(shape, name):
            raise StripeRefusal(f"Missing required param: {place}{name}.", code="parameter_missing")


def _is_optional(shape: type, name: str) -> bool:
    """Whether the field is optional. With postponed annotations, `typing` calls all fields required."""
    return "NotRequired" in str(next(one.__annotations__[name] for one in _bases(shape) if name in one.__annotations__))


def _bases(shape: type) -> list[type]:
    return [shape, *getattr(shape, "__orig_bases__", ())]


def _hints(shape: type) -> dict[str, Any]:
    return typing.get_type_hints(shape, localns=_LOCALS)


def _inside(hint: Any, value: Any) -> list[tuple[type, Any]]:
    """The described objects inside a value, each with its type."""
    if is_typeddict(hint):
        return [(hint, value)]
    inner = typing.get_args(hint)
    if typing.get_origin(hint) is list and isinstance(value, list):
        return [found for one in value for found in _inside(inner[0], one)]
    if typing.get_origin(hint) in {typing.Union, types.UnionType} and isinstance(value, dict | list):
        described = [one for one in inner if is_typeddict(one) or typing.get_origin(one) is list]
        return _inside(described[0], value) if described else []
    return []


def check_fields(shape: type, shown: Json) -> Json:
    """The object, after a check that Stripe's objects have all of its fields."""
    known = {name for one in shape.__mro__ for name in getattr(one, "__annotations__", {})}
    unknown = set(shown) - known - {"object"}
    assert not unknown, f"{shape.__name__} has no {', '.join(sorted(unknown))}"
    return shown


def signature(payload: str, *, secret: str, at: int) -> str:
    """The value of the header `Stripe-Signature`."""
    digest = hmac.new(secret.encode(), f"{at}.{payload}".encode(), hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"
