"""G4: `GET /personas` with 60 personas, as a whole and as 304, against a view that returns ready bytes."""

from __future__ import annotations

import json
import os
import time
import urllib.request
from pathlib import Path

from benchmarks import load, processes
from benchmarks.figures import Figure, ratio
from benchmarks.measuring import Cost, TargetCall, compared, described
from benchmarks.processes import Program
from benchmarks.statements import Statements
from catalog.models import Persona
from catalog.version import bump
from pages import warming

PERSONAS = 60
REQUESTS = 2_000
WARM_SECONDS = 5
LIMIT = 2.5


def measure() -> list[Figure]:
    fill()
    with processes.web() as product:
        body, etag = _asked(product)
        content = Path(os.environ["AGENTPODS_HOME"], "personas.json")
        content.write_bytes(body)
        with processes.web("benchmarks.baseline.settings", BENCHMARK_STATIC=str(content)) as baseline:
            whole = compared(
                TargetCall(product, load.get("/personas")), TargetCall(baseline, load.get("/static")), times=REQUESTS
            )
            known = load.get("/personas", If_None_Match=etag)
            unchanged = compared(
                TargetCall(product, known, 304), TargetCall(baseline, load.get("/unchanged"), 304), times=REQUESTS
            )
        return [
            _figure(f"G4 GET /personas, {PERSONAS} of them, {len(body) // 1000} kB", whole, "the same bytes, 200"),
            _figure("G4 GET /personas, 304", unchanged, "an empty 304"),
            _queries(product),
        ]


def fill() -> None:
    """Copy the built-in personas, in English only, until there are 60: about 200 kB in total."""
    own = list(Persona.objects.all())
    copies = [_copy(own[number % len(own)], number) for number in range(PERSONAS - len(own))]
    Persona.objects.bulk_create(copies)
    bump()


def _copy(persona: Persona, number: int) -> Persona:
    values = {field.attname: getattr(persona, field.attname) for field in Persona._meta.concrete_fields}  # noqa: SLF001
    return Persona(**values | {"id": f"{persona.pk}-{number}"})


def _asked(product: Program) -> tuple[bytes, str]:
    with urllib.request.urlopen(f"http://127.0.0.1:{product.port}/personas") as answer:
        body: bytes = answer.read()
        if len(json.loads(body)["personas"]) != PERSONAS:
            raise RuntimeError("the catalog is not as it was filled")
        return body, answer.headers["ETag"]


def _figure(name: str, measured: tuple[list[Cost], list[Cost]], what: str) -> Figure:
    ours, theirs = measured
    value = ratio([cost.total for cost in ours], [cost.total for cost in theirs])
    against = f"bare Django view: {what}; CPU {described(ours)} against {described(theirs)}"
    return Figure(name, value, "x", f"<= {LIMIT} x", value <= LIMIT, against)


def _queries(product: Program) -> Figure:
    """Count a warm process's statements under load: there should be only the checks of the catalog's version."""
    answered = 0
    with Statements() as seen:
        until = time.monotonic() + WARM_SECONDS
        while time.monotonic() < until:
            answered += len(load.run(product.port, load.repeat(load.get("/personas"), 200)).expect(200).answers)
    looks = sum("catalog_catalogversion" in text for text in seen.texts)
    settings = sum("config_operatorsetting" in text for text in seen.texts)  # every three seconds
    checks = len(seen.texts) - looks - settings
    # The time may end between the check of a connection and the check of the version.
    ok = looks <= WARM_SECONDS / warming.LOOK_SECONDS + 1 and checks <= looks + 1
    note = (
        f"no baseline: {answered:,} requests in {WARM_SECONDS} s; the {looks} looks at the catalog's version, "
        f"each after the pool's check of its connection ({checks}), come four times a second whatever the load"
    )
    return Figure("G4 statements per warm GET /personas", len(seen.texts) / answered, "", "none per request", ok, note)
