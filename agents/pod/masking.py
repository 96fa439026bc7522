"""Keeps secrets out of what leaves: bytes that stream through, short texts, log lines."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from urllib.parse import quote

MASK = "[secret]"
SHORTEST = 6  # anything shorter is part of ordinary words, and no secret: the key `0` of a server that takes any key


def mask_text(text: str, secrets: Iterable[str]) -> str:
    for spelling in _spellings(secrets):
        text = text.replace(spelling, MASK)
    return text


class StreamMask:
    """Masks secrets in chunks without holding back more than the beginning of what could be one."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._spellings = [spelling.encode() for spelling in _spellings(secrets)]
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        text = self._masked(self._held + chunk)
        keep = max((_overlap(text, spelling) for spelling in self._spellings), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def finish(self) -> bytes:
        held, self._held = self._held, b""
        return held

    def _masked(self, text: bytes) -> bytes:
        for spelling in self._spellings:
            text = text.replace(spelling, MASK.encode())
        return text


class MaskingFormatter(logging.Formatter):
    """The last gate before a log line is written; `secrets` is asked anew for every line."""

    def __init__(self, secrets: Callable[[], list[str]]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        return mask_text(super().format(record), self._secrets())


def _spellings(secrets: Iterable[str]) -> list[str]:
    """Each secret as it is, as in a URL and as in JSON; the longest first, so that none leaves a rest of another."""
    found: set[str] = set()
    for secret in secrets:
        if len(secret) < SHORTEST:
            continue
        found |= {secret, quote(secret, safe=""), json.dumps(secret)[1:-1], secret.replace("/", "\\/")}
    return sorted(found, key=len, reverse=True)


def _overlap(text: bytes, spelling: bytes) -> int:
    """How many bytes at the end of `text` could be the beginning of `spelling`."""
    for size in range(min(len(text), len(spelling) - 1), 0, -1):
        if text.endswith(spelling[:size]):
            return size
    return 0
