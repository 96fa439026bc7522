"""The URLs of the sign-in, with the page to return to, which must be one of our pages."""

from __future__ import annotations

import re
from urllib.parse import urlencode

ACCOUNT = "/account"
SIGN_IN = "/sign-in"
CODE = "/sign-in/code"
_OURS = re.compile(
    r"/(?:account|renew|create|oauth/authorize|oauth/activate)(?:[/?][\x21-\x7e]*)?"
)  # cannot be understood as another host
LONGEST = 6_000  # the request of a program can be long, and is doubled in the address of the sign-in


def sign_in(then: str) -> str:
    place = safe(then)
    return SIGN_IN if place == ACCOUNT else f"{SIGN_IN}?{urlencode({'next': place})}"


def code(then: str) -> str:
    return sign_in(then).replace(SIGN_IN, CODE, 1)


def safe(then: str) -> str:
    """`then` if it is the path of one of our pages; otherwise the account page."""
    return then if len(then) <= LONGEST and _OURS.fullmatch(then) and "\\" not in then else ACCOUNT
