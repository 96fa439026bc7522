"""Prometheus' own `promtool` says which alerts fire on metrics that were really served."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import yaml
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest

from status import figures
from tests.debian import program
from tests.deploy.test_alerts import SERIES
from tests.deploy.test_observability import HERE, RUNBOOKS
from tests.scraping import Scrape

COUNTED = ("_total", "_bucket", "_count", "_sum")  # the ends of names of counters
MINUTES = 400  # SloBurningSlow looks at six hours, and waits a quarter of an hour more
LOOKED_AT = "6h35m"
FIRING = 'count by (alertname) (ALERTS{alertstate="firing"})'


def page() -> Scrape:
    """What Prometheus would read now: the counters of this process, and the figures that beat tells."""

    class FreshFigures:
        def collect(self) -> object:
            return figures.read()

    of_beat = CollectorRegistry()
    of_beat.register(FreshFigures())  # type: ignore[arg-type]  # has all that is used
    return Scrape((generate_latest(REGISTRY) + generate_latest(of_beat)).decode() + "agentpods_figures_up 1.0\n")


def firing(before: Scrape, after: Scrape, directory: Path) -> set[str]:
    """The alerts that fire if each minute is like the time between the two pages."""
    series = [{"series": name, "values": values} for name, values in _series(before, after)]
    asked = {"expr": FIRING, "eval_time": LOOKED_AT, "exp_samples": []}
    test = {**SERIES, "input_series": series, "promql_expr_test": [asked]}
    written = {"rule_files": [str(HERE / "alerts.yaml")], "evaluation_interval": "1m", "tests": [test]}
    path = directory / "tests.yaml"
    path.write_text(yaml.safe_dump(written), encoding="utf-8")
    command = [str(program("promtool", package="prometheus")), "test", "rules", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    told = done.stdout + done.stderr
    assert done.returncode == 0 or "got:" in told, told  # promtool tells of what fires as of something unexpected
    return set(re.findall(r'alertname="(\w+)"', told.rpartition("got:")[2])) if done.returncode else set()


def _series(before: Scrape, after: Scrape) -> Iterator[tuple[str, str]]:
    known = {_named(one.name, one.labels): one.value for one in before.samples}
    for one in after.samples:
        if one.name.startswith("agentpods_"):
            name = _named(one.name, one.labels)
            grown = one.value - known.get(name, 0) if one.name.endswith(COUNTED) else 0
            yield name, f"{one.value:f}+{max(grown, 0):f}x{MINUTES}"


def _named(name: str, labels: dict[str, str]) -> str:
    return f"{name}{{{','.join(f'{label}={json.dumps(value)}' for label, value in labels.items())}}}"


def says(alert: str, *words: str) -> None:
    """The runbook of the alert says these words: the test that follows does what they say."""
    file = re.sub(r"(?<!^)(?=[A-Z])", "-", alert).lower()
    text = " ".join((RUNBOOKS / f"{file}.md").read_text(encoding="utf-8").split())
    for one in words:
        assert one in text, f"{file}: {one}"
