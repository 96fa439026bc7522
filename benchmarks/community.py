"""COMMUNITY: the endpoints of the catalog with 10,000 community personas in six languages.

The time of an answer is the wait for its first byte, with one request at a time; its CPU is shown beside it. The CPU of
the whole list is mostly the kernel's, which copies 113 MB, so it is compared with a view that has these bytes ready.
Then a persona changes while the list and a page are requested.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from benchmarks import catalog_of_ten_thousand, load, processes, search
from benchmarks.catalog_of_ten_thousand import PERSONAS
from benchmarks.figures import Figure, ratio
from benchmarks.measuring import TargetCall, compared, described
from benchmarks.processes import Program
from catalog.models import Persona

REQUESTS = 40
LISTS = 16
LIMIT_MS = 50
LIMIT = 1.25
VISIBLE_LIMIT_SECONDS = 1
WATCHED_SECONDS = 3
WAIT_SECONDS = 600
IDLE_SHARE = 0.1  # of one CPU
CHANGED = "persona-00007"
SMALL = (f"/personas/{CHANGED}", "/models", "/tiers", "/engines", "/tools", "/llm-providers")


@dataclass(frozen=True, slots=True)
class CommunityAnswer:
    """An answer. Times are milliseconds since its request."""

    status: int
    etag: str
    body: bytes
    first_byte: float
    whole: float


def measure() -> list[Figure]:
    catalog_of_ten_thousand.fill()
    with processes.web() as product, closing(_connected(product)) as link:
        read = _ask(link, "/personas")
        if read.body.count(b'"deployedCount"') <= PERSONAS:
            raise RuntimeError("the catalog is not as it was filled")
        _let_settle(product)
        own = [_timed(product, link, *asked) for asked in _asked(read.etag)] + [_sent(product, read.body)]
        cold = Figure("COMMUNITY first list of a process", read.first_byte / 1_000, "s", "none", None, "no baseline")
        return [*own, cold, *_changing(product), *search.figures(product)]


def _let_settle(product: Program) -> None:
    """Wait until the process has also made its pages, and only checks for changes."""
    busy = 1.0
    while busy > IDLE_SHARE:
        before = product.cpu_seconds()
        time.sleep(1)
        busy = product.cpu_seconds() - before


def _connected(product: Program) -> HTTPConnection:
    return HTTPConnection("127.0.0.1", product.port, timeout=WAIT_SECONDS)


def _ask(link: HTTPConnection, path: str, **headers: str) -> CommunityAnswer:
    begun = time.perf_counter()
    link.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    response = link.getresponse()
    first_byte = time.perf_counter() - begun
    body = response.read()
    whole = time.perf_counter() - begun
    return CommunityAnswer(response.status, response.headers.get("ETag", ""), body, first_byte * 1_000, whole * 1_000)


def _asked(etag: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    yield "the whole list, gzip", "/personas", {"Accept_Encoding": "gzip"}
    yield "the whole list, plain", "/personas", {}
    yield "the list, 304", "/personas", {"If_None_Match": etag}
    yield from ((f"GET {path}", path, {}) for path in SMALL)


def _timed(product: Program, link: HTTPConnection, name: str, path: str, headers: dict[str, str]) -> Figure:
    postgres = processes.postgres()
    before = product.cpu_seconds() + postgres.cpu_seconds()
    answers = [_ask(link, path, **headers) for _ in range(REQUESTS)]
    cpu = (product.cpu_seconds() + postgres.cpu_seconds() - before) / REQUESTS * 1_000
    wait, whole = (statistics.median(getattr(one, part) for one in answers) for part in ("first_byte", "whole"))
    note = f"no baseline; CPU {cpu:.1f} ms; {len(answers[0].body):,} B, the last after {whole:.1f} ms"
    return Figure(f"COMMUNITY {name}", wait, "ms", f"<= {LIMIT_MS} ms", wait <= LIMIT_MS, note)


def _sent(product: Program, body: bytes) -> Figure:
    """The total CPU of the list, beside a view that sends the same bytes."""
    content = Path(os.environ["AGENTPODS_HOME"], "personas.json")
    content.write_bytes(body)
    with processes.web("benchmarks.baseline.settings", BENCHMARK_STATIC=str(content)) as baseline:
        plain, ready = TargetCall(product, load.get("/personas")), TargetCall(baseline, load.get("/static"))
        ours, theirs = compared(plain, ready, times=LISTS)
    value = ratio([cost.total for cost in ours], [cost.total for cost in theirs])
    against = f"bare Django view: the same bytes, 200; CPU {described(ours)} against {described(theirs)}"
    return Figure("COMMUNITY the whole list, CPU", value, "x", f"<= {LIMIT} x", value <= LIMIT, against)


def _changing(product: Program) -> list[Figure]:
    """Change a persona. Measure when the list shows it, and the longest wait for a first byte meanwhile."""
    link = _connected(product)
    etag = _ask(link, "/personas").etag
    persona = Persona.objects.get(pk=CHANGED)
    persona.tagline = "Changed a moment ago"
    persona.save()
    begun, shown, waits = time.perf_counter(), 0.0, list[float]()
    while (elapsed := time.perf_counter() - begun) < WATCHED_SECONDS:
        listed, page = _ask(link, "/personas", If_None_Match=etag), _ask(link, f"/personas/{CHANGED}")
        waits += [listed.first_byte, page.first_byte]
        if listed.status == 200:
            shown, etag = elapsed, listed.etag
    slowest, seen = max(waits), shown or float("inf")
    asked = f"the slowest of {len(waits):,} answers of list and page in these {WATCHED_SECONDS} s"
    visible, waited = seen <= VISIBLE_LIMIT_SECONDS, slowest <= LIMIT_MS
    return [
        Figure("COMMUNITY a change shows after", seen, "s", f"<= {VISIBLE_LIMIT_SECONDS} s", visible, "no baseline"),
        Figure("COMMUNITY wait while it does", slowest, "ms", f"<= {LIMIT_MS} ms", waited, asked),
    ]
