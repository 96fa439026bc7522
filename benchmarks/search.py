"""SEARCH: pages of `GET /personas` among 10,000 community personas in six languages, one request at a time."""

from __future__ import annotations

import json
import re
import statistics
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.db import connection, transaction

from accounts.models import User
from benchmarks import load, processes
from benchmarks.figures import Figure
from benchmarks.measuring import in_turns
from benchmarks.processes import Program
from catalog.models import Persona, PersonaL10n
from catalog.version import bump
from catalog.vocabulary import ArticleLang, PersonaStatus

PERSONAS = 10_000
REQUESTS = 10
LIMIT_MS = 50
WAIT_SECONDS = 600
COMMON = "zebrafish"  # in every name, in every language

_NEXT = re.compile(r"<([^>]+)>; rel=\"next\"")


def measure() -> list[Figure]:
    fill()
    with processes.web() as product:
        _warm(product)
        return [_figure(product, name, query) for name, query in _queries(product)]


def fill() -> None:
    """Copies of the built-in personas with all their languages, their souls cut and without demos."""
    owner = User.objects.create_user("author@example.com")
    own = list(Persona.objects.prefetch_related("localizations"))
    with transaction.atomic():
        for number in range(PERSONAS):
            _copy(own[number % len(own)], number, owner)
        bump()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")  # as autovacuum does within a minute


def _copy(persona: Persona, number: int, owner: User) -> None:
    ours = {"id": f"persona-{number:05}", "owner_id": owner.pk, "status": PersonaStatus.PUBLISHED, "position": 10_000}
    name = f"{persona.name} {COMMON} rare{number}"
    copy = Persona(**_columns(persona) | ours | {"name": name, "soul": persona.soul[:2_000]})
    Persona.objects.bulk_create([copy])
    PersonaL10n.objects.bulk_create(
        PersonaL10n(**_columns(text) | {"id": None, "persona_id": copy.pk, "name": f"{text.name} {COMMON}"})
        for text in persona.localizations.all()
    )


def _columns(row: Persona | PersonaL10n) -> dict[str, object]:
    plain = [field.attname for field in row._meta.concrete_fields]  # noqa: SLF001 # Django's public API
    return {name: getattr(row, name) for name in plain} | {"loaded": {}, "demo": None}


def _warm(product: Program) -> None:
    """Until everything is read and encoded, as a running process has it."""
    if len(json.loads(_answer(product, {})[0])["personas"]) <= PERSONAS:
        raise RuntimeError("the catalog is not as it was filled")


def _queries(product: Program) -> Iterator[tuple[str, dict[str, str]]]:
    yield "a page of all", {"limit": "50"}
    yield "a category and a plan", {"category": "life", "tier": "tiny"}
    yield "in Turkish, last page", _last(product, {"lang": "tr", "limit": "200"})
    for lang in ArticleLang.values:
        yield f"a word that all {PERSONAS:,} have, {lang}", {"q": COMMON, "lang": lang}
    yield "the same, 200 of them", {"q": COMMON, "limit": "200"}
    yield "the same, last page", _last(product, {"q": COMMON, "limit": "200"})
    yield "the same, filtered", {"q": COMMON, "category": "life", "tier": "tiny"}
    yield "five common words and one begun", {"q": f"{COMMON} or plan or exam or your or questions or co"}
    yield "a rare word", {"q": "rare4711"}


def _last(product: Program, query: dict[str, str]) -> dict[str, str]:
    """What the last page is asked for with."""
    while link := _NEXT.match(_answer(product, query)[1]):
        query = dict(parse_qsl(urlsplit(link[1]).query))
    return query


def _answer(product: Program, query: dict[str, str]) -> tuple[bytes, str]:
    address = f"http://127.0.0.1:{product.port}/personas?{urlencode(query)}"
    with urllib.request.urlopen(address, timeout=WAIT_SECONDS) as answer:
        return answer.read(), answer.headers.get("Link", "")


def _figure(product: Program, name: str, query: dict[str, str]) -> Figure:
    asked = load.get(f"/personas?{urlencode(query)}", Accept_Encoding="gzip")
    ours, theirs = in_turns(_timed(product, asked), _timed(product, load.get("/tiers")))
    value = statistics.median(ours)
    note = f"GET /tiers in turns with it: {statistics.median(theirs):.1f} ms; slowest round {max(ours):.1f} ms"
    return Figure(f"SEARCH {name}", value, "ms", f"<= {LIMIT_MS} ms", value <= LIMIT_MS, note)


def _timed(product: Program, request: bytes) -> Callable[[], float]:
    return partial(_milliseconds, product, request)


def _milliseconds(product: Program, request: bytes) -> float:
    """The median of some answers, one after the other on one connection."""
    done = load.run(product.port, load.repeat(request, REQUESTS), connections=1).expect(200)
    return statistics.median(answer.seconds for answer in done.answers) * 1_000
