"""Lemon Squeezy's licence interface on loopback (facts: billing 1.2). It answers `valid` for the key of any seller."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.doubles.licence_server import Answer, Fields, LicenceServer


@dataclass
class Licence:
    number: int
    variant: int
    store: int = 1
    product: int = 10
    status: str = "inactive"
    limit: int = 1
    created_at: str = "2026-11-21T12:00:00.000000Z"
    expires_at: str | None = "2026-12-21T12:00:00.000000Z"
    instances: dict[str, str] = field(default_factory=dict)  # id to name

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
    """`licences` is by key."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.licences: dict[str, Licence] = {}
        self.made = 0

    def sell(self, key: str, variant: int = 101, **changes: Any) -> Licence:
        self.licences[key] = Licence(len(self.licences) + 1, variant, **changes)
        return self.licences[key]

    def rotate(self, old: str, new: str) -> None:
        self.licences[new] = self.licences.pop(old)

    def answer(self, path: str, fields: Fields) -> Answer:
        text = fields.get("license_key", "")
        if not text:
            return 422, {"message": "invalid", "error": "The license key field is required."}
        licence = self.licences.get(text)
        if licence is None:
            return 404, {"valid": False, "error": "license_key not found.", "license_key": None, "meta": None}
        verbs = {"validate": self._validate, "activate": self._activate, "deactivate": self._deactivate}
        return verbs[path.removeprefix("/v1/licenses/")](text, licence, fields)

    def _validate(self, text: str, licence: Licence, fields: Fields) -> Answer:
        usable = licence.status in {"inactive", "active"}
        error = None if usable else f"license_key {licence.status}"
        body = {"valid": usable, "error": error, "license_key": licence.key(text), "instance": None}
        return (200 if usable else 400), body | {"meta": licence.meta()}

    def _activate(self, text: str, licence: Licence, fields: Fields) -> Answer:
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

    def _deactivate(self, text: str, licence: Licence, fields: Fields) -> Answer:
        if fields.get("instance_id") not in licence.instances:
            return 404, {"deactivated": False, "error": "license_key_instance not found."}
        del licence.instances[fields["instance_id"]]
        return 200, {"deactivated": True, "error": None, "license_key": licence.key(text), "meta": licence.meta()}
