"""SEARCH: pages of `GET /personas` among the personas of benchmarks/community.py, one request at a time."""

from __future__ import annotations

import re
import statistics
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from urllib.parse import parse_qsl, urlencode, urlsplit

from benchmarks import load
from benchmarks.catalog_of_ten_thousand import COMMON, PERSONAS
from benchmarks.figures import Figure
from benchmarks.measuring import in_turns
from benchmarks.processes import Program
from catalog.vocabulary import ArticleLang

REQUESTS = 10
LIMIT_MS = 50
WAIT_SECONDS = 600

_NEXT = re.compile(r"<([^>]+)>; rel=\"next\"")


def figures(product: Program) -> list[Figure]:
    """The figures of a program that has read the catalog of benchmarks/community.py."""
    return [_figure(product, name, query) for name, query in _queries(product)]


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
    """The median of some answers, one after another on one connection."""
    done = load.run(product.port, load.repeat(request, REQUESTS), connections=1).expect(200)
    return statistics.median(answer.seconds for answer in done.answers) * 1_000
