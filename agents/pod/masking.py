"""Keeps secrets out of what leaves: bytes that stream through, short texts, log lines.

A secret is found in every mix of these spellings of its characters: plain, escaped as in JSON, encoded as in a URL. It
is masked where it stands whole, where the text ends within it after CUT characters, and where somebody else has cut it
off after TRUNCATED. So a text shows at most the first seven characters of a secret at its end, and fifteen elsewhere.

Not found: base64, hashes, a secret in pieces with other text between them, and one within packed bytes.
"""

from __future__ import annotations

import functools
import json
import logging
import re
from collections.abc import Callable, Iterable

from agents.runtimes.base import PodConfig

MASK = "[secret]"
SHORTEST = 6  # anything shorter is part of ordinary words, and no secret: the key `0` of a server that takes any key
CUT = 8
TRUNCATED = 16  # longer than what all keys of a vendor begin with, such as `sk-ant-api03-`


def mask_text(text: str, secrets: Iterable[str]) -> str:
    mask = StreamMask(secrets)
    masked = mask.feed(text.encode("utf-8", "surrogatepass")) + mask.finish()
    return masked.decode("utf-8", "surrogatepass")


def secrets_of(config: PodConfig) -> list[str]:
    """What a configuration holds that no evidence may show."""
    servers = [
        value for server in config.mcp_servers for name in ("env", "headers") for value in _values(server.get(name))
    ]
    return [*config.channel_secrets.values(), *servers]


def _values(pairs: object) -> list[str]:
    return [str(value) for value in pairs.values()] if isinstance(pairs, dict) else []


class StreamMask:
    """Masks secrets in chunks without holding back more than the beginning of what could be one."""

    def __init__(self, secrets: Iterable[str]) -> None:
        long_enough = {secret for secret in secrets if len(secret) >= SHORTEST}
        # The longest first, so that none leaves a rest of another.
        self._secrets = [_secret(text) for text in sorted(long_enough, key=len, reverse=True)]
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        text, self._held = self._held + chunk, b""
        for secret in self._secrets:
            text, held = secret.mask(text)
            self._held = held + self._held
        return text

    def finish(self) -> bytes:
        held, self._held = self._held, b""
        for secret in self._secrets:
            held = secret.mask_end(held)
        return held


class MaskingFormatter(logging.Formatter):
    """The last gate before a log line is written; `secrets` is asked anew for every line."""

    def __init__(self, secrets: Callable[[], list[str]]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        return mask_text(super().format(record), self._secrets())


class _Secret:
    def __init__(self, text: str) -> None:
        spellings = [_spellings(character) for character in text]
        self._starts = [_starts(each) for each in spellings]
        self._characters = [re.compile(_pattern(each)) for each in spellings]
        self._whole = re.compile(b"".join(map(_pattern, spellings)))
        self._truncated = re.compile(b"".join(map(_pattern, spellings[:TRUNCATED]))) if len(text) > TRUNCATED else None
        self._first = re.compile(b"[" + b"".join(re.escape(each[:1]) for each in sorted(spellings[0])) + b"]")
        self._longest = sum(max(map(len, each)) for each in spellings)

    def mask(self, text: bytes) -> tuple[bytes, bytes]:
        """The text that can go, and its end that could be the beginning of the secret."""
        text = self._whole.sub(MASK.encode(), text)
        end = next((at for at in self._candidates(text) if self._read(text, at)[1] is None), len(text))
        return self._without_truncated(text[:end]), text[end:]

    def mask_end(self, text: bytes) -> bytes:
        """No more text follows. What was held back for another secret may hold this one whole."""
        text = self._without_truncated(self._whole.sub(MASK.encode(), text))
        for at in self._candidates(text):
            count, end = self._read(text, at)
            if end is None and count >= CUT:
                return text[:at] + MASK.encode()
        return text

    def _candidates(self, text: bytes) -> Iterable[int]:
        """Where at the end of the text the secret could begin."""
        return (found.start() for found in self._first.finditer(text, max(0, len(text) - self._longest)))

    def _read(self, text: bytes, at: int) -> tuple[int, int | None]:
        """How many characters of the secret stand here, and where they end; None: where the text does."""
        for count, character in enumerate(self._characters):
            found = character.match(text, at)
            if found is None:
                return count, None if text[at:].lower() in self._starts[count] else at
            at = found.end()
        return len(self._characters), at

    def _without_truncated(self, text: bytes) -> bytes:
        if self._truncated is None:
            return text
        done = 0
        kept = bytearray()
        while found := self._truncated.search(text, done):
            kept += text[done : found.start()] + MASK.encode()
            _, end = self._read(text, found.start())
            done = len(text) if end is None else end
        return bytes(kept + text[done:])


@functools.lru_cache(maxsize=64)
def _secret(text: str) -> _Secret:
    return _Secret(text)


def _spellings(character: str) -> set[bytes]:
    """In lower case where case does not matter."""
    raw = character.encode("utf-8", "surrogatepass")
    units = character.encode("utf-16-be", "surrogatepass")
    escaped = "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
    encoded = "".join(f"%{byte:02x}" for byte in raw)
    short = {json.dumps(character)[1:-1].encode(), b"\\/" if character == "/" else raw}
    return {raw, escaped.encode(), encoded.encode(), *short}


def _pattern(spellings: set[bytes]) -> bytes:
    """The longest first: of a backslash, the escaped one."""
    ordered = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))
    return b"(?:" + b"|".join(_either_case(each) if len(each) > 2 else re.escape(each) for each in ordered) + b")"


def _either_case(escape: bytes) -> bytes:
    """Of its hexadecimal digits; `u` stays as it is."""
    both = (b"[%c%c]" % (byte, byte - 32) if byte in b"abcdef" else re.escape(bytes([byte])) for byte in escape)
    return b"".join(both)


def _starts(spellings: set[bytes]) -> set[bytes]:
    """What can stand at the end of a text that breaks off within a character, the empty text included."""
    return {spelling[:size].lower() for spelling in spellings for size in range(len(spelling))}
