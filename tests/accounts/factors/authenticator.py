"""A security key in software: it makes real keys and signs real challenges, as a browser would hand them over."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


class Authenticator:
    def __init__(self, origin: str, site: str) -> None:
        self.origin, self.site = origin, site
        self.flags = PRESENT | VERIFIED
        self.counter = 0
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.credential = secrets.token_bytes(32)

    def made(self, options: str) -> str:
        """The answer to the options of a new passkey."""
        numbers = self._key.public_key().public_numbers()
        x, y = (one.to_bytes(32, "big") for one in (numbers.x, numbers.y))
        key = cbor2.dumps({1: 2, 3: -7, -1: 1, -2: x, -3: y})
        length = len(self.credential).to_bytes(2, "big")
        data = self._data(ATTESTED) + bytes(16) + length + self.credential + key
        attested = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        return self._answer("webauthn.create", options, {"attestationObject": text(attested)})

    def signed(self, options: str) -> str:
        """The answer to the options of a sign-in."""
        self.counter += 1
        data, client = self._data(0), self._client("webauthn.get", options)
        signature = self._key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        return self._answer("webauthn.get", options, {"authenticatorData": text(data), "signature": text(signature)})

    def _data(self, more: int) -> bytes:
        flags = (self.flags | more).to_bytes(1, "big")
        return hashlib.sha256(self.site.encode()).digest() + flags + self.counter.to_bytes(4, "big")

    def _client(self, kind: str, options: str) -> bytes:
        told = {"type": kind, "challenge": json.loads(options)["challenge"], "origin": self.origin}
        return json.dumps(told).encode()

    def _answer(self, kind: str, options: str, response: dict[str, Any]) -> str:
        name = text(self.credential)
        client = {"clientDataJSON": text(self._client(kind, options))}
        return json.dumps({"id": name, "rawId": name, "type": "public-key", "response": {**client, **response}})


def text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")
