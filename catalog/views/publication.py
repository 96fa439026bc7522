"""The catalog's answers as bytes: each encoded and compressed once per version of the catalog, when first asked for."""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rest_framework.renderers import JSONRenderer

from catalog import snapshot

ETAG_DIGITS = 32


@dataclass(frozen=True, slots=True)
class Representation:
    """One body with its own strong tag; a compressed body is another representation, so its tag differs."""

    body: bytes
    etag: str
    encoding: str | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """An answer, plain and compressed."""

    plain: Representation
    compressed: Representation


class _Answers:
    """The answers of one snapshot."""

    def __init__(self, of: snapshot.Snapshot) -> None:
        self.snapshot = of
        self.lock = threading.RLock()
        self.made: dict[str, Published] = {}

    def get(self, name: str, content: Callable[[], Mapping[str, Any]]) -> Published:
        published = self.made.get(name)
        if published is None:
            with self.lock:
                published = self.made.get(name) or _encode(content())
                self.made[name] = published
        return published


_answers: _Answers | None = None


def published(name: str, content: Callable[[], Mapping[str, Any]]) -> Published:
    """The answer `name`, made of `content()` unless this version of the catalog already has it."""
    global _answers  # noqa: PLW0603 # replaced whole, like the snapshot that it belongs to
    now, answers = snapshot.current(), _answers
    if answers is None or answers.snapshot is not now:
        answers = _answers = _Answers(now)
    return answers.get(name, content)


def _encode(content: Mapping[str, Any]) -> Published:
    body = JSONRenderer().render(content)
    tag = hashlib.sha256(body).hexdigest()[:ETAG_DIGITS]
    compressed = gzip.compress(body, mtime=0)
    return Published(
        plain=Representation(body, f'"{tag}"'),
        compressed=Representation(compressed, f'"{tag}-gzip"', "gzip"),
    )
