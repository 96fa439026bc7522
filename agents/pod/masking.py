"""Removes secrets from everything that leaves a program: byte streams, short texts, log lines.
A secret is found in any mix of three spellings of its characters: plain, escaped as in JSON, encoded as in a URL. It is
masked if it is complete, if the text ends inside it after at least CUT characters, or if another program cut it off
after at least TRUNCATED characters. So a text shows at most the first seven characters of a secret at the end of the
text, and fifteen elsewhere.
Not found: base64, hashes, a secret with other text between its parts, and a secret in compressed data.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable

from agents.pod.spelled import SpelledSecret
from agents.runtimes.base import PodConfig

MASK = "[secret]"
# shorter texts occur in ordinary words, and are no secrets: for example the key `0` of a server that accepts any key
SHORTEST = 6
CUT = 8
MUCH = 256  # bytes that are held back: more of them are looked at again only when an eighth as many have come
TRUNCATED = 16  # longer than the common beginning of a vendor's keys, such as `sk-ant-api03-`


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
        self._new = 0  # bytes at the end of those that were not looked at

    def feed(self, chunk: bytes) -> bytes:
        """What may be sent of the text so far. Of a long beginning of a secret the end may wait for more, so that small
        pieces cost no more than large ones.
        """
        self._held += chunk
        self._new += len(chunk)
        if len(self._held) > MUCH and self._new * 8 < len(self._held):
            return b""
        text, self._held, self._new = self._held, b"", 0
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
    def __init__(self, text: str) -> None:
        self._spelled = SpelledSecret(text)

    def mask(self, text: bytes) -> tuple[bytes, bytes]:
        """Returns the masked text that may be sent, and its end that may be the beginning of the secret."""
        text = self._without(text, self._spelled.size)
        cut = self._spelled.cut_at(text, 0)
        end = len(text) if cut is None else cut
        return self._without_truncated(text, until=end), text[end:]

    def mask_end(self, text: bytes) -> bytes:
        """Mask the last text of a stream. Text that was held back for another secret may contain this secret as a
        whole.
        """
        text = self._without(text, self._spelled.size)
        text = self._without_truncated(text, until=len(text))
        cut = self._spelled.cut_at(text, CUT)
        return text if cut is None else text[:cut] + MASK.encode()

    def _without_truncated(self, text: bytes, *, until: int) -> bytes:
        """The text until this place. The end of a truncated secret may be the beginning of another one, and stay."""
        if self._spelled.size > TRUNCATED:
            return self._without(text, TRUNCATED, until=until)
        return text[:until]

    def _without(self, text: bytes, size: int, *, until: int | None = None) -> bytes:
        """The text without the first `size` characters of the secret, and without those that follow them."""
        kept, done, last = bytearray(), 0, len(text) if until is None else until
        for begin, end in self._spelled.occurrences(text, size):
            if begin >= last:
                break
            kept += text[done:begin] + MASK.encode()
            done = min(end, last)
        return bytes(kept + text[done:last]) if done else text[:last]


@functools.lru_cache(maxsize=256)
def _secret(text: str) -> _Secret:
    return _Secret(text)
