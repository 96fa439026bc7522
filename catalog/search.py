"""Searching and filtering the public personas.

The personas come from the snapshot in memory. PostgreSQL only says which personas contain the words, and how well.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from django.db import connection

from catalog import search_words, snapshot
from catalog.models import Persona
from catalog.search_places import ForeignCursor, SearchPosition, cursor_of, place_of
from catalog.search_words import SearchWords
from catalog.snapshot import Snapshot
from catalog.vocabulary import ArticleLang

PAGE = 50
LARGEST_PAGE = 200
LONGEST_QUERY = 200
SPARE = 10  # found beyond a page, in case some are no longer shown
DIGEST_DIGITS = 12

# The words are searched as typed and without accents; the documents contain both forms. The search query is built once,
# before the rows are read: the planner does not know its value and so always uses the index. `lang` is part of the SQL
# text because it selects the partition of the table.
_SQL = """
    WITH asked AS MATERIALIZED (
        SELECT (
            {wanted}
            || CASE WHEN numnode(plainto_tsquery({config}, %(begun)s)) = 0 THEN ''::tsquery ELSE
                ({before_it}) && to_tsquery('simple', concat('''', catalog_unaccented(%(begun)s), ''':*'))
            END
        ) && !! ({unwanted}) AS query
    ), found AS (
        SELECT persona_id COLLATE "C" AS id, position, ts_rank(document, query) AS rank
        FROM asked, catalog_personadocument
        WHERE document @@ query AND public AND lang = '{lang}'
            AND (%(category)s::text IS NULL OR category = %(category)s)
            AND (%(tier)s::text IS NULL OR tier = %(tier)s)
    )
    SELECT id, position, rank FROM found
    WHERE %(rank)s::float4 IS NULL OR rank < %(rank)s::float4
        OR (rank = %(rank)s::float4 AND (position, id) > (%(position)s::int, %(last)s::text COLLATE "C"))
    ORDER BY rank DESC, position, id
    LIMIT %(limit)s
"""


def _sql(lang: str) -> str:
    config = f"catalog_config('{lang}')"
    both = "websearch_to_tsquery({0}, %({1})s) || websearch_to_tsquery({0}, catalog_unaccented(%({1})s))"
    parts = {name: both.format(config, name) for name in ("wanted", "before_it", "unwanted")}
    return _SQL.format(config=config, lang=lang, **parts)


_STATEMENTS = {lang: _sql(lang) for lang in ArticleLang.values}


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaQuery:
    """The search of a visitor. `lang` is the language of `q`; only personas that have this language are found."""

    q: str | None = None
    category: str | None = None
    lang: str = ArticleLang.EN
    tier: str | None = None
    limit: int = PAGE
    cursor: str | None = None

    @property
    def digest(self) -> str:
        """The same value for all pages of a search."""
        asked = "|".join(word or "" for word in (self.category, self.lang, self.tier, self.q))
        return hashlib.sha256(asked.encode()).hexdigest()[:DIGEST_DIGITS]


@dataclass(frozen=True, slots=True)
class SearchPage:
    personas: list[Persona]
    cursor: str | None  # of the next page


def warm() -> None:
    """Compute the languages of every persona before anybody searches. Unchanged personas have them already."""
    for persona in listed().personas:
        _ = persona.languages


def find(query: PersonaQuery) -> SearchPage:
    """One page: by rank if there are words, else in the list's order. Raises ForeignCursor."""
    after = place_of(query.cursor, search=query.digest) if query.cursor else None
    if after is not None and (after.rank is None) != (query.q is None):
        raise ForeignCursor
    if query.q is None:
        return _page(list(islice(_filtered(query, after), query.limit + 1)), query, last=None)
    words = search_words.read(query.q, lang=query.lang)
    return _searched(query, words, after) if words else SearchPage([], None)


@dataclass(frozen=True, slots=True)
class _Listed:
    """The public personas of one snapshot in the list's order, and the position of each."""

    snapshot: Snapshot
    personas: list[Persona]
    places: list[tuple[int, str]]


_listed: _Listed | None = None


def listed() -> _Listed:
    """Made once per version of the catalog: collecting ten thousand personas takes longer than filtering them."""
    global _listed  # noqa: PLW0603 # replaced as a whole, like the snapshot
    now, known = snapshot.current(), _listed
    if known is None or known.snapshot is not now:
        public = [persona for persona in now.personas.values() if persona.public]
        places = [(persona.position, persona.id) for persona in public]
        known = _listed = _Listed(now, public, places)
    return known


def _filtered(query: PersonaQuery, after: SearchPosition | None) -> Iterator[tuple[Persona, SearchPosition]]:
    everybody = listed()
    begin = bisect_right(everybody.places, (after.position, after.persona_id)) if after else 0
    for persona in islice(everybody.personas, begin, None):
        if _fits(persona, query):
            yield persona, SearchPosition(None, persona.position, persona.id)


def _fits(persona: Persona, query: PersonaQuery) -> bool:
    return (
        query.category in {None, persona.category}
        and query.tier in {None, persona.tier}
        and (query.lang == ArticleLang.EN or query.lang in persona.languages)
    )


def _searched(query: PersonaQuery, words: SearchWords, after: SearchPosition | None) -> SearchPage:
    """Search with words. Personas that are not in the snapshot are skipped; the next page starts after them."""
    limit = query.limit + 1 + SPARE
    places = _ranked(query, words, after, limit=limit)
    known = snapshot.current().personas
    shown = [(known[place.persona_id], place) for place in places if _public(known.get(place.persona_id))]
    return _page(shown, query, last=places[-1] if len(places) == limit else None)


def _public(persona: Persona | None) -> bool:
    return persona is not None and persona.public


def _ranked(
    query: PersonaQuery, words: SearchWords, after: SearchPosition | None, *, limit: int
) -> list[SearchPosition]:
    given = {
        "wanted": words.wanted,
        "unwanted": words.unwanted,
        "begun": words.begun,
        "before_it": words.before_it,
        "category": query.category,
        "tier": query.tier,
        "rank": after.rank if after else None,
        "position": after.position if after else None,
        "last": after.persona_id if after else None,
        "limit": limit,
    }
    with connection.cursor() as cursor:
        cursor.execute(_STATEMENTS[query.lang], given)
        return [SearchPosition(rank, position, persona_id) for persona_id, position, rank in cursor.fetchall()]


def _page(
    shown: list[tuple[Persona, SearchPosition]], query: PersonaQuery, *, last: SearchPosition | None
) -> SearchPage:
    """The first personas as a page. `last` is where the next page starts if there are too few here and more follow."""
    page = shown[: query.limit]
    end = page[-1][1] if len(shown) > query.limit else last
    return SearchPage([persona for persona, _ in page], cursor_of(end, search=query.digest) if end else None)
