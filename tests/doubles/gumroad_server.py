"""Gumroad's licence API on loopback, with Gumroad's texts, statuses and defaults.

By hand: `python -m tests.doubles.gumroad_server --port 18090 --key KEY --product prod_tiny` sells one key.
"""

from __future__ import annotations

import argparse
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.doubles.licence_server import Answer, Fields, LicenceServer

NOT_FOUND = "That license does not exist for the provided product."
DISABLED = "This license key has been disabled."
NO_ACCESS = "Access to the purchase associated with this license has expired."
NO_PRODUCT = (
    "'product_id' is a required parameter for this product. Please pass 'product_id' instead of 'product_permalink'."
)


@dataclass
class GumroadSale:
    """One licence key and its purchase; `purchase` overrides any field of the purchase."""

    product: str
    number: int = 1
    sold_at: str = "2026-11-21T12:00:00Z"
    recurrence: str | None = "monthly"
    uses: int = 0
    gone: str = ""  # one of Gumroad's texts with status 404
    without_purchase: bool = False
    purchase: dict[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Gumroad's JSON for the purchase. Only memberships have `recurrence` and the other membership fields."""
        body: dict[str, Any] = {
            "seller_id": "seller==",
            "product_id": self.product,
            "product_name": "Agentpods",
            "permalink": "agentpods",
            "email": "buyer@example.com",
            "price": 500,
            "gumroad_fee": 50,
            "currency": "usd",
            "quantity": 1,
            "discover_fee_charged": False,
            "can_contact": True,
            "referrer": "direct",
            "order_number": 524459935 + self.number,
            "sale_id": f"sale-{self.number}",
            "sale_timestamp": self.sold_at,
            "created_at": self.sold_at,
            "id": f"sale-{self.number}",
            "purchaser_id": "3",
            "variants": "",
            "test": False,
            "is_multiseat_license": False,
            "refunded": False,
            "disputed": False,
            "dispute_won": False,
        }
        if self.recurrence:
            body |= {
                "subscription_id": f"membership-{self.number}",
                "recurrence": self.recurrence,
                "subscription_ended_at": None,
                "subscription_cancelled_at": None,
                "subscription_failed_at": None,
            }
        else:
            body["chargebacked"] = False
        return {name: value for name, value in (body | self.purchase).items() if value is not ...}


class GumroadServer(LicenceServer):
    """`sales` has the sales by licence key."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.sales: dict[str, GumroadSale] = {}

    def sell(self, key: str, product: str = "prod-tiny==", **changes: Any) -> GumroadSale:
        sale = GumroadSale(product, number=len(self.sales) + 1, **changes)
        self.sales[key] = sale
        return sale

    def rotate(self, old: str, new: str) -> None:
        """Give the purchase a new key; the old key does not exist any more."""
        self.sales[new] = self.sales.pop(old)

    def answer(self, path: str, fields: Fields) -> Answer:
        if path != "/v2/licenses/verify":
            return 404, {"status": 404, "error": "Not Found"}
        if not fields.get("product_id"):
            return 500, {"success": False, "message": NO_PRODUCT}
        sale = self.sales.get(fields.get("license_key", ""))
        if sale is None or sale.product != fields["product_id"]:
            return 404, {"success": False, "message": NOT_FOUND}
        if sale.gone:
            return 404, {"success": False, "message": sale.gone}
        if fields.get("increment_uses_count") != "false":
            sale.uses += 1
        body: dict[str, Any] = {"success": True, "uses": sale.uses}
        if sale.without_purchase:
            return 200, body | {"imported_customer": {"email": "buyer@example.com"}}
        return 200, body | {"purchase": sale.document()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--key", action="append", default=[])
    parser.add_argument("--product", default="prod-tiny==")
    given = parser.parse_args()
    with GumroadServer(given.port) as server:
        for key in given.key:
            server.sell(key, given.product, sold_at=datetime.now(UTC).isoformat())
        threading.Event().wait()


if __name__ == "__main__":
    main()
