"""Meta's webhook of the WhatsApp Cloud API: the handshake, the signature, and the messages of a call.

Source: Meta's documentation of the Cloud API, "Webhooks": `hub.mode`, `hub.verify_token`, `hub.challenge`, and
`X-Hub-Signature-256`, an HMAC-SHA256 of the body's bytes with the app's secret.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from agents.inbound.models import NAME_CHARACTERS
from config.errors import BadRequest, Forbidden
from config.parsing import BadText, strict_json

CHANNEL = "whatsapp"
VERIFY_TOKEN, APP_SECRET = "whatsappVerifyToken", "whatsappAppSecret"
CHALLENGE_CHARACTERS = 200
MESSAGES_AT_MOST = 100  # in one call
_PREFIX = "sha256="
# The name is sent to the engine in a header, and is stored there on a line of a file.
_NAME = re.compile(rf"[!-~]{{1,{NAME_CHARACTERS}}}")


class NotMeta(Forbidden):
    def __init__(self, what: str) -> None:
        super().__init__(f"{what}: does not match this agent's channel whatsapp")


@dataclass(frozen=True, slots=True)
class WhatsappMessage:
    name: str
    body: str = field(repr=False)  # JSON: a call with only this message


def challenge(secrets: Mapping[str, str], asked: Mapping[str, str]) -> str:
    """The challenge to send back when an owner enters our address at Meta. Raises NotMeta and BadRequest."""
    if asked.get("hub.mode") != "subscribe":
        raise BadRequest("hub.mode: must be subscribe")
    if not _same(asked.get("hub.verify_token", ""), secrets.get(VERIFY_TOKEN, "")):
        raise NotMeta("hub.verify_token")
    said = asked.get("hub.challenge", "")
    if not said or len(said) > CHALLENGE_CHARACTERS or not said.isprintable():
        raise BadRequest(f"hub.challenge: 1 to {CHALLENGE_CHARACTERS} printable characters")
    return said


def messages(body: bytes, signature: str, *, secrets: Mapping[str, str]) -> list[WhatsappMessage]:
    """The people's messages in a call; receipts and other news are left out. Raises NotMeta and BadRequest."""
    key = secrets.get(APP_SECRET, "")
    right = _PREFIX + hmac.new(key.encode(), body, hashlib.sha256).hexdigest()
    if not key or not _same(signature, right):
        raise NotMeta("X-Hub-Signature-256")
    try:
        call = strict_json(body.decode("utf-8"))
    except (UnicodeDecodeError, BadText) as error:
        raise BadRequest(f"body: not valid JSON ({error})") from error
    phone = secrets.get("whatsappPhoneNumberId", "")
    # They are counted before any is written out, because each one repeats what the call says beside its messages.
    found = list(islice(_found(call, phone), MESSAGES_AT_MOST + 1))
    if len(found) > MESSAGES_AT_MOST:
        raise BadRequest(f"body: more than {MESSAGES_AT_MOST} messages")
    return [_alone(value, message) for value, message in found]


def _found(call: Any, phone: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The messages for this phone number. An app has one webhook for all its numbers, and other numbers are not this
    agent's."""
    for value in _values(call):
        about = value.get("metadata")
        if not isinstance(about, dict) or about.get("phone_number_id") != phone:
            continue
        for message in _objects(value.get("messages")):
            name = message.get("id")
            if isinstance(name, str) and _NAME.fullmatch(name):
                yield value, message


def _alone(value: dict[str, Any], message: dict[str, Any]) -> WhatsappMessage:
    change = {"field": "messages", "value": {**value, "messages": [message], "statuses": []}}
    whole = {"object": "whatsapp_business_account", "entry": [{"id": "0", "changes": [change]}]}
    return WhatsappMessage(message["id"], json.dumps(whole, ensure_ascii=False))


def _values(call: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(call, dict) or call.get("object") != "whatsapp_business_account":
        return
    for entry in _objects(call.get("entry")):
        for change in _objects(entry.get("changes")):
            if change.get("field") == "messages" and isinstance(change.get("value"), dict):
                yield change["value"]


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _same(shown: str, right: str) -> bool:
    """Whether the two are the same. An empty secret is never the same as anything."""
    return bool(right) and hmac.compare_digest(shown.encode("utf-8", "surrogatepass"), right.encode())
