"""The catalog's answers as bytes: each encoded and compressed once per version of the catalog, when first asked for.

Answers full of personas are put together of pieces, one per persona, that outlive the versions in which nothing of it
changed: with ten thousand personas, publishing one more encodes one. The list of them all is still large to put
together; `renew` does that beside the requests, which meanwhile are given the answers of the version before.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rest_framework.renderers import JSONRenderer

from catalog import personas as rules
from catalog import snapshot
from catalog.models import Persona
from catalog.serializers import ArticleInfoSerializer, PersonaSerializer
from catalog.tiers import tier_of
from catalog.views import gzipped

ETAG_DIGITS = 32
# A server copies what it is given before it sends it: by this much at a time it costs half of what one large body does.
CHUNK_BYTES = 2**18


@dataclass(frozen=True, slots=True)
class Representation:
    """One body with its own strong tag; a compressed body is another representation, so its tag differs."""

    chunks: tuple[bytes, ...]
    etag: str
    encoding: str | None = None

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(map(len, self.chunks))


@dataclass(frozen=True, slots=True)
class Published:
    """An answer, plain and compressed."""

    plain: Representation
    compressed: Representation


@dataclass(frozen=True, slots=True)
class Part:
    """Some bytes of an answer, also compressed on their own, and their digest."""

    plain: bytes
    compressed: bytes
    digest: bytes

    @classmethod
    def of(cls, plain: bytes) -> Part:
        return cls(plain, gzipped.part(plain), hashlib.sha256(plain).digest())


@dataclass(frozen=True, slots=True)
class _Piece:
    """A persona encoded: good as long as the snapshot has the same object, and its tier costs and gives the same."""

    persona: Persona
    terms: tuple[str, str]
    part: Part


_LIST, _COMMA, _LIST_END = Part.of(b'{"personas":['), Part.of(b","), Part.of(b"]}")
_PAGE, _ARTICLES, _PAGE_END = Part.of(b'{"persona":'), Part.of(b',"articles":'), Part.of(b"}")
_NONE = Part.of(b"[]")


class _Answers:
    """The answers of one snapshot."""

    def __init__(self, of: snapshot.Snapshot) -> None:
        self.snapshot = of
        self.made: dict[str, Published] = {}
        self.locks: dict[str, threading.Lock] = {}

    def get(self, name: str, make: Callable[[], Published]) -> Published:
        """Who asks for the same waits for who makes it; nobody waits for another answer, as the list takes long."""
        published = self.made.get(name)
        if published is None:
            with self.locks.setdefault(name, threading.Lock()):
                published = self.made.get(name) or make()
                self.made[name] = published
        return published

    def personas(self) -> Published:
        """`{personas}` of everything public."""
        return self.get("personas", lambda: joined(rules.public(self.snapshot)))


_answers: _Answers | None = None
_renewing = threading.Lock()
_pieces: dict[str, _Piece] = {}


def renew() -> None:
    """See what changed and put the list together, before anybody is given an answer of the new version."""
    with _renewing:
        now = snapshot.look()
        answers = _answers if _answers and _answers.snapshot is now else _Answers(now)
        if _answers is None:
            _use(answers)
        answers.personas()
        if _answers is not answers:
            _use(answers)


def published(name: str, content: Callable[[], Mapping[str, Any]]) -> Published:
    """The answer `name`, made of `content()` unless this version of the catalog already has it."""
    return _current().get(name, lambda: _together([Part.of(_encoded(content()))]))


def all_personas() -> Published:
    """`{personas}` of everything public, once per version of the catalog."""
    return _current().personas()


def joined(personas: Iterable[Persona]) -> Published:
    """`{personas}` of these, in their order, made anew each time."""
    parts = [_LIST]
    for persona in personas:
        if len(parts) > 1:
            parts.append(_COMMA)
        parts.append(_part(persona))
    return _together([*parts, _LIST_END])


def page(persona_id: str) -> Published:
    """`{persona, articles}` of one, the bodies of articles left out. Raises NoSuchPersona.

    Put together anew each time, which costs next to nothing: kept, those of ten thousand would fill the memory.
    """
    persona = rules.shown(persona_id, _current().snapshot)
    return _together([_PAGE, _part(persona), _ARTICLES, _articles(persona), _PAGE_END])


def _current() -> _Answers:
    """The answers of the catalog as it is or, while `renew` is at work, as it was before."""
    now, answers = snapshot.current(), _answers
    if answers is None or (answers.snapshot is not now and not _renewing.locked()):
        answers = _use(_Answers(now))
    return answers


def _use(answers: _Answers) -> _Answers:
    global _answers  # noqa: PLW0603 # replaced whole, like the snapshot that it belongs to
    _answers = answers
    for persona_id in [*_pieces]:
        if persona_id not in answers.snapshot.personas:
            _pieces.pop(persona_id, None)
    return answers


def _part(persona: Persona) -> Part:
    tier = tier_of(persona.tier)
    terms = (tier.spec, tier.price)
    piece = _pieces.get(persona.id)
    if piece is None or piece.persona is not persona or piece.terms != terms:
        piece = _Piece(persona, terms, Part.of(_encoded(_fields().to_representation(persona))))
        _pieces[persona.id] = piece
    return piece.part


@functools.cache
def _fields() -> PersonaSerializer:
    """One for all: making its fields takes ten times as long as reading a persona through them."""
    return PersonaSerializer()


def _articles(persona: Persona) -> Part:
    articles = persona.articles.all()
    return Part.of(_encoded(ArticleInfoSerializer(articles, many=True).data)) if articles else _NONE


def _together(parts: list[Part]) -> Published:
    plain = [part.plain for part in parts]
    tag = hashlib.sha256(b"".join([part.digest for part in parts])).hexdigest()[:ETAG_DIGITS]
    compressed = gzipped.joined(plain, [part.compressed for part in parts])
    return Published(
        plain=Representation(tuple(_chunks(plain)), f'"{tag}"'),
        compressed=Representation(tuple(_chunks(compressed)), f'"{tag}-gzip"', "gzip"),
    )


def _chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in fewer pieces, each but the last of CHUNK_BYTES or little more."""
    gathered: list[bytes] = []
    size = 0
    for piece in pieces:
        gathered.append(piece)
        size += len(piece)
        if size >= CHUNK_BYTES:
            yield b"".join(gathered)
            gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)


def _encoded(content: Any) -> bytes:
    body: bytes = JSONRenderer().render(content)
    return body
