"""The signature of Lemon Squeezy's webhook calls, with the secret that the operator has set."""

from __future__ import annotations

import hashlib
import hmac

from config import crypto
from config.errors import Unauthorized
from config.operator_settings import operator_settings

HEADER = "X-Signature"


class NotLemonSqueezy(Unauthorized):
    message = f"{HEADER}: not the signature of this body with the secret of our webhook"


def is_expected() -> bool:
    return bool(operator_settings.LEMONSQUEEZY_WEBHOOK_SECRET)


def check(body: bytes, signature: str) -> None:
    """Raises NotLemonSqueezy unless the signature is the HMAC-SHA256 of the body, in hexadecimal digits."""
    ours = hmac.new(operator_settings.LEMONSQUEEZY_WEBHOOK_SECRET.encode(), body, hashlib.sha256).hexdigest()
    if not crypto.same(signature.lower(), ours):
        raise NotLemonSqueezy
