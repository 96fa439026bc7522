"""The catalog's answers as bytes. Each is encoded and compressed once per version of the catalog, when first asked for.

An answer with personas is joined from pieces, one per persona. A piece stays valid while its persona does not change:
with ten thousand personas, publishing one more encodes only that one. Joining the list of all personas still takes
long; `renew` does that outside of requests, and requests get the answers of the version before meanwhile.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rest_framework.renderers import JSONRenderer

from catalog import personas as rules
from catalog import snapshot
from catalog.models import Persona
from catalog.serializers.catalog import ArticleInfoSerializer, PersonaSerializer
from catalog.tiers import tier_of
from catalog.views import gzipped
from catalog.views.narrowing import FieldPlaces

ETAG_DIGITS = 32
# A server copies each chunk before it sends it. Chunks of this size cost half of what one large body costs.
CHUNK_BYTES = 2**18


@dataclass(frozen=True, slots=True)
class Representation:
    """One body with its own strong ETag. A compressed body is another representation, so its ETag differs."""

    chunks: tuple[bytes, ...]
    etag: str
    encoding: str | None = None

    @property
    def size(self) -> int:
        """The size in bytes."""
        return sum(map(len, self.chunks))


@dataclass(frozen=True, slots=True)
class Published:
    """An answer, plain and compressed."""

    plain: Representation
    compressed: Representation


@dataclass(frozen=True, slots=True)
class Part:
    """Some bytes of an answer, their compressed form, and their digest."""

    plain: bytes
    compressed: bytes
    digest: bytes

    @classmethod
    def of(cls, plain: bytes) -> Part:
        return cls(plain, gzipped.part(plain), hashlib.sha256(plain).digest())


@dataclass(slots=True)
class _Piece:
    """An encoded persona. Valid while the snapshot has the same object and its tier has the same spec and price."""

    persona: Persona
    terms: tuple[str, str]
    part: Part
    places: FieldPlaces | None = None  # once somebody has chosen fields

    def only(self, names: Collection[str]) -> bytes:
        """The persona with these fields."""
        if self.places is None:
            self.places = FieldPlaces(self.part.plain, encode=_encoded)
        return self.places.only(self.part.plain, names)


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
        """The answer `name`, made by one caller while others wait.

        Callers of other answers do not wait: the list takes long.
        """
        published = self.made.get(name)
        if published is None:
            with self.locks.setdefault(name, threading.Lock()):
                published = self.made.get(name) or make()
                self.made[name] = published
        return published

    def personas(self) -> Published:
        """`{personas}` with all public personas."""
        return self.get("personas", lambda: joined(rules.public(self.snapshot)))


_answers: _Answers | None = None
_renewing = threading.Lock()
_pieces: dict[str, _Piece] = {}


def renew() -> None:
    """Read what changed and make the list, before any request gets an answer of the new version."""
    with _renewing:
        now = snapshot.look()
        answers = _answers if _answers and _answers.snapshot is now else _Answers(now)
        if _answers is None:
            _use(answers)
        answers.personas()
        if _answers is not answers:
            _use(answers)


def published(name: str, content: Callable[[], Mapping[str, Any]]) -> Published:
    """The answer `name`. It is made from `content()` if this version of the catalog does not have it yet."""
    return _current().get(name, lambda: _together([Part.of(_encoded(content()))]))


def all_personas() -> Published:
    """`{personas}` with all public personas, made once per version of the catalog."""
    return _current().personas()


def joined(personas: Iterable[Persona]) -> Published:
    """`{personas}` with these personas in this order, made again each time."""
    parts = [_LIST]
    for persona in personas:
        if len(parts) > 1:
            parts.append(_COMMA)
        parts.append(_piece(persona).part)
    return _together([*parts, _LIST_END])


def narrowed(personas: Iterable[Persona] | None, names: Collection[str]) -> bytes:
    """`{personas}` with these fields of these personas, or of all public ones."""
    found = rules.public(_current().snapshot) if personas is None else personas
    shown = [_piece(persona).only(names) for persona in found]
    return b"".join([_LIST.plain, b",".join(shown), _LIST_END.plain])


def page(persona_id: str) -> Published:
    """`{persona, articles}` of one persona, without the bodies of articles. Raises NoSuchPersona.

    Joined again each time, which costs very little. Keeping ten thousand of these answers would fill the memory.
    """
    persona = rules.shown(persona_id, _current().snapshot)
    return _together([_PAGE, _piece(persona).part, _ARTICLES, _articles(persona), _PAGE_END])


def _current() -> _Answers:
    """The answers of the current catalog; while `renew` runs, those of the version before."""
    now, answers = snapshot.current(), _answers
    if answers is None or (answers.snapshot is not now and not _renewing.locked()):
        answers = _use(_Answers(now))
    return answers


def _use(answers: _Answers) -> _Answers:
    global _answers  # noqa: PLW0603 # replaced as a whole, like the snapshot
    _answers = answers
    for persona_id in [*_pieces]:
        if persona_id not in answers.snapshot.personas:
            _pieces.pop(persona_id, None)
    return answers


def _piece(persona: Persona) -> _Piece:
    tier = tier_of(persona.tier)
    terms = (tier.spec, tier.price)
    piece = _pieces.get(persona.id)
    if piece is None or piece.persona is not persona or piece.terms != terms:
        piece = _Piece(persona, terms, Part.of(_encoded(_fields().to_representation(persona))))
        _pieces[persona.id] = piece
    return piece


@functools.cache
def _fields() -> PersonaSerializer:
    """One serializer for all personas: making its fields takes ten times as long as encoding a persona."""
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
    """The same bytes in fewer pieces. Each but the last has CHUNK_BYTES or a little more."""
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
