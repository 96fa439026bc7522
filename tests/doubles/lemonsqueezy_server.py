"""Lemon Squeezy on loopback: its licence API, and its JSON:API for the seller.

As with Lemon Squeezy itself, the licence API answers `valid` for the key of any seller. The seller's API has orders,
subscriptions and their invoices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.doubles.licence_server import Answer, Fields, LicenceServer

API_KEY = "lemon-api-key"


@dataclass
class Charge:
    """One invoice of a subscription, in cents of USD; the first invoice is also the order's."""

    number: int
    at: str
    cents: int
    tax: int = 0
    reason: str = "renewal"
    status: str = "paid"
    back: int = 0

    def attributes(self) -> dict[str, Any]:
        return {
            "billing_reason": self.reason,
            "status": self.status,
            "currency": "USD",
            "refunded": self.status == "refunded",
            "refunded_at": None,
            "total": self.cents,
            "total_usd": self.cents,
            "tax_usd": self.tax,
            "refunded_amount": self.back,
            "refunded_amount_usd": self.back,
            "created_at": self.at,
        }

    def give_back(self, cents: int | None = None) -> None:
        self.back = self.cents if cents is None else cents
        self.status = "refunded" if self.back == self.cents else "partial_refund"


@dataclass
class LemonSqueezyLicence:
    number: int
    variant: int
    store: int = 1
    product: int = 10
    status: str = "inactive"
    limit: int = 1
    created_at: str = "2026-11-21T12:00:00.000000Z"
    expires_at: str | None = "2026-12-21T12:00:00.000000Z"
    instances: dict[str, str] = field(default_factory=dict)  # id to name
    charges: list[Charge] = field(default_factory=list)
    order_status: str = "paid"
    subscribes: bool = True
    subscription_status: str = "active"
    cancelled: bool = False

    def charge(self, at: str, cents: int = 900, **changes: Any) -> Charge:
        reason = "renewal" if self.charges else "initial"
        number = 1000 * self.number + len(self.charges)
        self.charges.append(Charge(number, at, cents, **{"reason": reason} | changes))
        return self.charges[-1]

    def order(self) -> dict[str, Any]:
        """The order in the seller's API: it has the first charge only, whatever happens to later charges."""
        first = self.charges[0].attributes()
        status = self.order_status if self.order_status != "paid" else first["status"]
        item = {"id": 300 + self.number, "order_id": 200 + self.number}
        return first | {"status": status, "refunded": status == "refunded", "first_order_item": item}

    def subscription(self) -> dict[str, Any]:
        attributes = {
            "order_item_id": 300 + self.number,
            "status": "cancelled" if self.cancelled else self.subscription_status,
            "cancelled": self.cancelled,
            "renews_at": self.expires_at,
            "ends_at": self.expires_at if self.cancelled else None,
        }
        return {"type": "subscriptions", "id": str(500 + self.number), "attributes": attributes}

    def key(self, text: str) -> dict[str, Any]:
        return {
            "id": self.number,
            "status": self.status,
            "key": text,
            "activation_limit": self.limit,
            "activation_usage": len(self.instances),
            "created_at": self.created_at,
            "expires_at": self.expires_at,
        }

    def meta(self) -> dict[str, Any]:
        return {
            "store_id": self.store,
            "order_id": 200 + self.number,
            "order_item_id": 300 + self.number,
            "product_id": self.product,
            "product_name": "Agentpods",
            "variant_id": self.variant,
            "variant_name": "Tiny",
            "customer_id": 400,
            "customer_name": "Buyer",
            "customer_email": "buyer@example.com",
        }


class LemonSqueezyServer(LicenceServer):
    """`licences` has the licences by key."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.licences: dict[str, LemonSqueezyLicence] = {}
        self.made = 0
        self.api_key = API_KEY

    def sell(self, key: str, variant: int = 101, **changes: Any) -> LemonSqueezyLicence:
        self.licences[key] = LemonSqueezyLicence(len(self.licences) + 1, variant, **changes)
        return self.licences[key]

    def rotate(self, old: str, new: str) -> None:
        self.licences[new] = self.licences.pop(old)

    def answer(self, path: str, fields: Fields) -> Answer:
        text = fields.get("license_key", "")
        if not text:
            return 422, {"message": "invalid", "error": "The license key field is required."}
        licence = self.licences.get(text)
        verb = path.removeprefix("/v1/licenses/")
        if licence is None:
            no = {"validate": "valid", "activate": "activated", "deactivate": "deactivated"}[verb]
            return 404, {no: False, "error": "license_key not found.", "license_key": None, "meta": None}
        verbs = {"validate": self._validate, "activate": self._activate, "deactivate": self._deactivate}
        return verbs[verb](text, licence, fields)

    def _validate(self, text: str, licence: LemonSqueezyLicence, fields: Fields) -> Answer:
        usable = licence.status in {"inactive", "active"}
        error = None if usable else f"license_key {licence.status}"
        body = {"valid": usable, "error": error, "license_key": licence.key(text), "instance": None}
        return (200 if usable else 400), body | {"meta": licence.meta()}

    def _activate(self, text: str, licence: LemonSqueezyLicence, fields: Fields) -> Answer:
        about = {"license_key": licence.key(text), "meta": licence.meta()}
        if len(licence.instances) >= licence.limit:
            error = "This license key has reached the activation limit."
            return 400, {"activated": False, "error": error, **about}
        self.made += 1
        instance = f"instance-{self.made}"
        licence.instances[instance] = fields["instance_name"]
        licence.status = "active"
        body = {"id": instance, "name": fields["instance_name"], "created_at": licence.created_at}
        return 200, {"activated": True, "error": None, "instance": body, **about | {"license_key": licence.key(text)}}

    def _deactivate(self, text: str, licence: LemonSqueezyLicence, fields: Fields) -> Answer:
        if fields.get("instance_id") not in licence.instances:
            return 404, {"deactivated": False, "error": "license_key_instance not found."}
        del licence.instances[fields["instance_id"]]
        return 200, {"deactivated": True, "error": None, "license_key": licence.key(text), "meta": licence.meta()}

    def answer_seller(self, method: str, path: str, query: Fields, authorization: str) -> Answer:
        if authorization != f"Bearer {self.api_key}":
            return 401, {"message": "Unauthenticated."}
        kind, _, name = path.removeprefix("/v1/").partition("/")
        licences = list(self.licences.values())
        if (method, kind) == ("GET", "orders"):
            found = [
                {"type": kind, "id": name, "attributes": one.order()}
                for one in licences
                if name == str(200 + one.number)
            ]
            return (200, {"data": found[0]}) if found else (404, {"errors": [{"status": "404"}]})
        subscribed = [one for one in licences if one.subscribes]
        if (method, kind) == ("GET", "subscription-invoices"):
            asked = [one for one in subscribed if query["filter[subscription_id]"] == str(500 + one.number)]
            charges = [charge for one in asked for charge in reversed(one.charges)]
            rows = [{"type": kind, "id": str(charge.number), "attributes": charge.attributes()} for charge in charges]
            return 200, {"data": rows[: int(query.get("page[size]", 10))]}
        if method == "GET":
            rows = [one.subscription() for one in subscribed if query["filter[order_item_id]"] == str(300 + one.number)]
            return 200, {"data": rows}
        return self._cancel([one for one in subscribed if name == str(500 + one.number)])

    def _cancel(self, found: list[LemonSqueezyLicence]) -> Answer:
        if not found:
            return 404, {"errors": [{"status": "404"}]}
        found[0].cancelled = True
        return 200, {"data": found[0].subscription()}
