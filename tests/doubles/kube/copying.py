"""Copies of objects: a large cluster in a moment, without a request for each of its objects."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping

from tests.doubles.kube.resources import BY_KIND, Object
from tests.doubles.kube.store import Store

_ONCE = {"Node", "StorageClass", "Event"}
_UID = re.compile(r'"uid": "([0-9a-f-]{36})"')


def copy(store: Store, word: str, others: Iterable[Mapping[str, str]]) -> None:
    """Store all objects that contain `word` again, once for each mapping, with its words in the place of theirs. Copies
    that name each other keep doing so: each has a uid of its own.
    """
    text = json.dumps([[kind, obj] for kind, obj in _all(store) if word in json.dumps(obj)])
    own = set(_UID.findall(text))
    for words in others:
        with store.changed:  # controllers see a copy when it is complete
            for kind, obj in json.loads(_replaced(text, {**words, **{uid: str(uuid.uuid4()) for uid in own}})):
                store.put(kind, obj)


def _all(store: Store) -> Iterator[tuple[str, Object]]:
    for kind in BY_KIND.keys() - _ONCE:
        for obj in store.all(kind):
            yield kind, obj


def _replaced(text: str, words: Mapping[str, str]) -> str:
    for old, new in words.items():
        text = text.replace(old, new)
    return text
