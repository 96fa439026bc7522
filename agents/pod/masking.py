"""Removes secrets from everything that leaves a program: byte streams, short texts, log lines.
A secret is found in any mix of three spellings of its characters: plain, escaped as in JSON, encoded as in a URL. It is
masked if it is complete, if the text ends inside it after at least CUT characters, or if another program cut it off
after at least TRUNCATED characters. So a text shows at most the first seven characters of a secret at the end of the
text, and fifteen elsewhere.
Not found: base64, hashes, a secret with other text between its parts, and a secret in compressed data.
"""

from __future__ import annotations

import functools
import json
import logging
import re
from collections.abc import Callable, Iterable

from agents.runtimes.base import PodConfig

MASK = "[secret]"
# shorter texts occur in ordinary words, and are no secrets: for example the key `0` of a server that accepts any key
SHORTEST = 6
CUT = 8
TRUNCATED = 16  # longer than the common beginning of a vendor's keys, such as `sk-ant-api03-`
HEAD = 4  # number of characters for a quick search: a text without them does not contain the secret


def mask_text(text: str, secrets: Iterable[str]) -> str:
    mask = StreamMask(secrets)
    masked = mask.feed(text.encode("utf-8", "surrogatepass")) + mask.finish()
    return masked.decode("utf-8", "surrogatepass")


def secrets_of(config: PodConfig) -> list[str]:
    """The secrets in a configuration, which no log may show."""
    servers = [
        value for server in config.mcp_servers for name in ("env", "headers") for value in _values(server.get(name))
    ]
    return [*config.channel_secrets.values(), *servers]


def _values(pairs: object) -> list[str]:
    return [str(value) for value in pairs.values()] if isinstance(pairs, dict) else []


class StreamMask:
    """Masks secrets in a stream of chunks. It holds back only text that could be the beginning of a secret."""

    def __init__(self, secrets: Iterable[str]) -> None:
        long_enough = {secret for secret in secrets if len(secret) >= SHORTEST}
        # The longest first: if one secret contains another, the longer one is masked as a whole.
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
    """The last protection before a log line is written. `secrets` is called for every line."""

    def __init__(self, secrets: Callable[[], list[str]]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        return mask_text(super().format(record), self._secrets())


class _Secret:
    """Compiling a long pattern takes milliseconds, so it is done only when a text needs it."""

    def __init__(self, text: str) -> None:
        self._letters = [_letter(character) for character in text]
        self._head = _compiled(self._letters[:HEAD])
        self._longest = sum(letter.longest for letter in self._letters)

    @functools.cached_property
    def _whole(self) -> re.Pattern[bytes]:
        return _compiled(self._letters)

    @functools.cached_property
    def _truncated(self) -> re.Pattern[bytes] | None:
        return _compiled(self._letters[:TRUNCATED]) if len(self._letters) > TRUNCATED else None

    def mask(self, text: bytes) -> tuple[bytes, bytes]:
        """Returns the masked text that may be sent, and its end that may be the beginning of the secret."""
        text = self._without_whole(text)
        end = next((at for at in self._candidates(text) if self._read(text, at)[1] is None), len(text))
        return self._without_truncated(text[:end]), text[end:]

    def mask_end(self, text: bytes) -> bytes:
        """Mask the last text of a stream. Text that was held back for another secret may contain this secret as a
        whole.
        """
        text = self._without_truncated(self._without_whole(text))
        for at in self._candidates(text):
            count, end = self._read(text, at)
            if end is None and count >= CUT:
                return text[:at] + MASK.encode()
        return text

    def _candidates(self, text: bytes) -> Iterable[int]:
        """The positions near the end of the text where the secret could begin."""
        first = self._letters[0].first
        return (found.start() for found in first.finditer(text, max(0, len(text) - self._longest)))

    def _read(self, text: bytes, at: int) -> tuple[int, int | None]:
        """How many characters of the secret are at this position, and where they end; None if the text ends inside the
        secret.
        """
        for count, letter in enumerate(self._letters):
            found = letter.pattern.match(text, at)
            if found is None:
                return count, None if text[at:].lower() in letter.starts else at
            at = found.end()
        return len(self._letters), at

    def _without_whole(self, text: bytes) -> bytes:
        return self._whole.sub(MASK.encode(), text) if self._head.search(text) else text

    def _without_truncated(self, text: bytes) -> bytes:
        if not self._head.search(text) or self._truncated is None:
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


class _Letter:
    """One character of a secret, with all its spellings."""

    def __init__(self, character: str) -> None:
        spellings = _spellings(character)
        self.regex = _regex(spellings)
        self.starts = _starts(spellings)
        self.longest = max(map(len, spellings))
        self._firsts = b"[" + b"".join(re.escape(each[:1]) for each in sorted(spellings)) + b"]"

    @functools.cached_property
    def pattern(self) -> re.Pattern[bytes]:
        return re.compile(self.regex)

    @functools.cached_property
    def first(self) -> re.Pattern[bytes]:
        return re.compile(self._firsts)


@functools.lru_cache(maxsize=1024)
def _letter(character: str) -> _Letter:
    return _Letter(character)


def _compiled(letters: Iterable[_Letter]) -> re.Pattern[bytes]:
    return re.compile(b"".join(letter.regex for letter in letters))


def _spellings(character: str) -> set[bytes]:
    """The spellings of a character, in lower case where case does not matter."""
    raw = character.encode("utf-8", "surrogatepass")
    escaped = f"\\u{ord(character):04x}"
    encoded = "".join(f"%{byte:02x}" for byte in raw)
    # two escapes for a character beyond U+FFFF; some programs escape a slash too
    in_json = json.dumps(character)[1:-1].replace("/", "\\/")
    return {raw, escaped.encode(), encoded.encode(), in_json.encode()}


def _regex(spellings: set[bytes]) -> bytes:
    """The longest spelling comes first, so that an escaped backslash is found as such."""
    ordered = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))
    return b"(?:" + b"|".join(_either_case(each) if len(each) > 2 else re.escape(each) for each in ordered) + b")"


def _either_case(escape: bytes) -> bytes:
    """A pattern that accepts both cases of the hexadecimal digits; the letter `u` of an escape stays lower case."""
    both = (b"[%c%c]" % (byte, byte - 32) if byte in b"abcdef" else re.escape(bytes([byte])) for byte in escape)
    return b"".join(both)


def _starts(spellings: set[bytes]) -> set[bytes]:
    """All texts that can be at the end of a text which stops inside this character, including the empty text."""
    return {spelling[:size].lower() for spelling in spellings for size in range(len(spelling))}
