"""Gets a list of models in the format of models.dev, from an address or a file. Its size and time are limited."""

from __future__ import annotations

import json
import time
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests

from catalog import listing
from catalog.listing import ListedModels
from config import answers

LARGEST_BYTES = 32 * 2**20  # the list had 2 MB in 2026
CONNECT_SECONDS = 5
SILENCE_SECONDS = 15
LONGEST_SECONDS = 60
USER_AGENT = "agentpods/1.0"


class SourceUnreadable(Exception):  # short, as the rules say it
    """The source is missing, too large, too slow, or not a list of models."""


def read(source: str) -> ListedModels:
    """Read the list at `source`. Raises SourceUnreadable if nothing in it can be used."""
    found = listing.parse(_document(_download(source) if _is_url(source) else _contents(source)))
    if not found.models:
        raise SourceUnreadable(f"{label_of(source)} has no usable model of any provider: is it models.dev's api.json?")
    return found


def label_of(source: str) -> str:
    """A name for the source: the host of an address, which may contain a password, or the name of a file."""
    return (urlsplit(source).hostname or "an address") if _is_url(source) else Path(source).name


def _is_url(source: str) -> bool:
    if source.startswith(("https://", "http://")):
        return True
    if "://" in source:
        raise SourceUnreadable("the source must be an https:// or http:// address, or a file")
    return False


def _contents(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            body = file.read(LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise SourceUnreadable(f"cannot read the file: {error}") from error
    if len(body) > LARGEST_BYTES:
        raise _too_much()
    return body


def _download(url: str) -> bytes:
    try:
        with requests.Session() as session:
            session.trust_env = False
            answer = session.get(
                url,
                headers={"User-Agent": USER_AGENT, "Accept": "application/json"},
                timeout=(CONNECT_SECONDS, SILENCE_SECONDS),
                allow_redirects=False,
                stream=True,
            )
            _refuse_other_than_200(answer)
            until = time.monotonic() + LONGEST_SECONDS
            return answers.body_of(answer, at_most=LARGEST_BYTES, until=until, refuse=_too_much)
    except (requests.RequestException, ValueError) as error:  # ValueError: not a valid address
        raise SourceUnreadable(f"cannot fetch the list: {type(error).__name__}: {str(error)[:300]}") from error


def _refuse_other_than_200(answer: requests.Response) -> None:
    if answer.is_redirect:
        to = answer.headers.get("Location", "")[:200]
        raise SourceUnreadable(f"the address redirects to {to!r}: give that as the source if you trust it")
    if answer.status_code != requests.codes.ok:
        raise SourceUnreadable(f"the address answered HTTP {answer.status_code}")


def _too_much(_: str = "") -> SourceUnreadable:
    return SourceUnreadable(f"the list is larger than {LARGEST_BYTES // 2**20} MiB, or slower than {LONGEST_SECONDS} s")


def _document(body: bytes) -> Any:
    """Parse the JSON. Numbers become Decimals and are never converted through a float."""
    try:
        return json.loads(
            body.decode("utf-8-sig"),
            parse_int=Decimal,
            parse_float=_exact,
            parse_constant=Decimal,
            object_pairs_hook=listing.JsonObject,
        )
    except (ValueError, RecursionError) as error:
        raise SourceUnreadable(f"the list is not JSON: {str(error)[:200]}") from error


def _exact(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:  # a number with a huge exponent is no price, and NaN is none either
        return Decimal("NaN")
