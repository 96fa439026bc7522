"""Prometheus' own `promtool` says which alerts fire on metrics that were really served; runbooks say what to do."""

from __future__ import annotations

import io
import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import requests
import yaml
from django.core.management import CommandError, call_command
from django.db import connection
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.samples import Sample

from status import figures
from tests.debian import program
from tests.deploy.test_alerts import SERIES
from tests.deploy.test_observability import HERE, RUNBOOKS
from tests.patience import crowding
from tests.scraping import Scrape, scrape

COUNTED = ("_total", "_bucket", "_count", "_sum")  # the ends of names of counters
MINUTES, LOOKED_AT = 100, "1h35m"  # DrillsFailing waits for an hour, longer than all others
FIRING = 'count by (alertname) (ALERTS{alertstate="firing"})'

RULES = HERE / "alerts.yaml"
ASKED_FOR = set(re.findall(r"\bagentpods_\w+", RULES.read_text(encoding="utf-8")))  # the metrics of the alerts
Page = dict[str, float]  # a series, such as `agentpods_loop_late{loop="webhooks.drain"}`, and its value


def page() -> Page:
    """What Prometheus would read now: the counters of this process, and the figures that beat tells."""

    class FreshFigures:
        def collect(self) -> object:
            return figures.read()

    of_beat = CollectorRegistry()
    of_beat.register(FreshFigures())  # type: ignore[arg-type]  # has all that is used
    told = Scrape((generate_latest(REGISTRY) + generate_latest(of_beat)).decode())
    return {**_series(told.samples), "agentpods_figures_up": 1.0}


def page_of(name: str, port: int) -> Page:
    """What Prometheus stores when it asks this process. Of one that does not answer, it knows only that."""
    target = {"job": "agentpods", "program": name, "instance": f"127.0.0.1:{port}"}
    up = _named("up", target)
    try:
        told = scrape(port, seconds=5 * crowding())
    except requests.RequestException:
        return {up: 0.0}
    return {**_series(told.samples, **target), up: 1.0}


def firing(before: Page, after: Page, directory: Path) -> set[str]:
    """The alerts that fire if each minute is like the time between the two pages."""
    series = [{"series": name, "values": values} for name, values in _values(before, after)]
    asked = {"expr": FIRING, "eval_time": LOOKED_AT, "exp_samples": []}
    test = {**SERIES, "input_series": series, "promql_expr_test": [asked]}
    written = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]}
    path = directory / "tests.yaml"
    path.write_text(yaml.dump(written, Dumper=yaml.CSafeDumper), encoding="utf-8")
    command = [str(program("promtool", package="prometheus")), "test", "rules", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    told = done.stdout + done.stderr
    assert done.returncode == 0 or "got:" in told, told  # promtool tells of what fires as of something unexpected
    return set(re.findall(r'alertname="(\w+)"', told.rpartition("got:")[2])) if done.returncode else set()


def _values(before: Page, after: Page) -> Iterator[tuple[str, str]]:
    for name, value in after.items():
        grown = value - before.get(name, 0) if name.partition("{")[0].endswith(COUNTED) else 0
        yield name, f"{value:f}+{max(grown, 0):f}x{MINUTES}"


def _series(samples: Iterable[Sample], **labels: str) -> Page:
    return {_named(one.name, {**one.labels, **labels}): one.value for one in samples if one.name in ASKED_FOR}


def _named(name: str, labels: dict[str, str]) -> str:
    inside = ",".join(f"{label}={json.dumps(value)}" for label, value in labels.items())
    return f"{name}{{{inside}}}" if inside else name


def runbook(alert: str) -> str:
    file = re.sub(r"(?<!^)(?=[A-Z])", "-", alert).lower()
    return (RUNBOOKS / f"{file}.md").read_text(encoding="utf-8")


def says(alert: str, *words: str) -> None:
    """The runbook of the alert says these words: the test that follows does what they say."""
    text = " ".join(runbook(alert).split())
    for one in words:
        assert one in text, f"{alert}: {one}"


def command_of(alert: str, start: str) -> str:
    """The one command or statement of the runbook that begins like this."""
    text = runbook(alert)
    blocks = re.findall(r"^```\w+\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    spans = re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))
    found = [" ".join(one.split()) for one in (*blocks, *spans)]
    (command,) = {one for one in found if one.startswith(start)}
    return command


def managed(alert: str, start: str = "manage.py ", **given: str) -> str:
    """Type the runbook's command of `manage.py`. Returns what it prints, also where it fails.

    `AGENT="agt_1"` is put in where the command says `AGENT`.
    """
    out = io.StringIO()
    words = [given.get(word, word) for word in command_of(alert, start).partition("manage.py ")[2].split()]
    try:
        call_command(*words, stdout=out)
    except CommandError as error:
        return f"{out.getvalue()}{error}"
    return out.getvalue()


def asked(alert: str, start: str, **given: object) -> list[tuple[object, ...]]:
    """Send the runbook's statement to the database; `PID=5` is put in where it says `PID`."""
    statement = command_of(alert, start)
    for name, value in given.items():
        statement = statement.replace(name, str(value))
    with connection.cursor() as cursor:
        cursor.execute(statement)
        rows: list[tuple[object, ...]] = cursor.fetchall()
        return rows
