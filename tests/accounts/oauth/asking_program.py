"""A program that asks for a key by OAuth, as tests play it."""

from __future__ import annotations

import base64
import hashlib
from typing import Any
from urllib.parse import parse_qsl, urlencode

from rest_framework.test import APIClient

from tests.pages.account.visitor import Visitor

CLIENT = "https://program.example/oauth/client.json"
BACK = "http://127.0.0.1:7777/back"
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
FORM = "application/x-www-form-urlencoded"


def request_of(**changed: str) -> str:
    """The address to which the program sends the person."""
    asked = {
        "response_type": "code",
        "client_id": CLIENT,
        "redirect_uri": BACK,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "scope": "read",
        "state": "the-state",
        **changed,
    }
    return f"/oauth/authorize?{urlencode({name: value for name, value in asked.items() if value})}"


def answered(visitor: Visitor, place: str, **typed: str) -> dict[str, str]:
    """What the program gets back after the person's answer."""
    answer = visitor.send(visitor.open(place), place, **{"answer": "allow", "may": "read", "days": "30", **typed})
    assert answer.status_code == 303, answer.content
    where, _, query = answer.headers["Location"].partition("?")
    return {"": where, **dict(parse_qsl(query))}


def exchanged(given: str, /, **changed: str) -> Any:
    sent = {
        "grant_type": "authorization_code",
        "client_id": CLIENT,
        "code": given,
        "code_verifier": VERIFIER,
        "redirect_uri": BACK,
        **changed,
    }
    return APIClient().post("/oauth/token", urlencode(sent), content_type=FORM)
