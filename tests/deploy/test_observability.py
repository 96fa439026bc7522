"""Alerts, dashboards, runbooks and the list of metrics name only what the product has."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client import REGISTRY, Metric

from agents.router import proxy
from agents.talking import chat, talk_test
from billing import invariants
from config.metrics import requests, tasks
from config.metrics.pool import COUNTERS, GAUGES
from status import figures
from webhooks import delivery_loop

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "deploy" / "observability"
RUNBOOKS = ROOT / "docs" / "runbooks"
PROOFS = Path(__file__).parent / "alerts"
PAGE = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
COUNTED_IN = (proxy, chat, talk_test, invariants, requests, tasks, delivery_loop)  # the modules that have metrics
FOREIGN = {"up", "process_resident_memory_bytes", "process_cpu_seconds_total"}  # of Prometheus and of its library
OF_TARGETS = {"job", "instance", "program", "le"}  # labels that the scrape or the histogram adds


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((HERE / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


@cache
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("dashboards", HERE / "dashboards.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["dashboards"] = module  # dataclasses look for their module there
    spec.loader.exec_module(module)
    return module


def expressions() -> list[str]:
    """All PromQL of alerts, dashboards and runbooks."""
    panels = [panel for name in generator().DASHBOARDS for panel in generator().dashboard(name)["panels"]]
    of_panels = [target["expr"] for panel in panels for target in panel["targets"]]
    spans = [span for path in RUNBOOKS.glob("*.md") for span in re.findall(r"`([^`]+)`", path.read_text("utf-8"))]
    return [*(rule["expr"] for rule in rules()), *of_panels, *(span for span in spans if "agentpods_" in span)]


def selectors(node: Any) -> Iterator[Any]:
    """Every selector of a parsed expression."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node
        return
    for part in ("lhs", "rhs", "expr", "vector_selector"):
        if child := getattr(node, part, None):
            yield from selectors(child)
    for argument in getattr(node, "args", None) or []:
        yield from selectors(argument)


def exported(read: list[Metric]) -> dict[str, set[str]]:
    """The samples of the product's metrics by name, each with its labels."""
    found = {name: set[str]() for name in (*GAUGES, *(f"{name}_total" for name in COUNTERS), "agentpods_figures_up")}
    for metric in (*REGISTRY.collect(), *read):
        if metric.name.startswith("agentpods_"):
            labels = set(_labels_of(metric))
            ends = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(metric.type, [""])
            found |= {f"{metric.name}{end}": labels for end in ends}
    return found


def _labels_of(metric: Metric) -> list[str]:
    """The labels of a metric, also of one that has no sample yet."""
    own = [one for module in COUNTED_IN for one in vars(module).values() if getattr(one, "_name", None) == metric.name]
    if own:
        return list(own[0]._labelnames)
    return list(getattr(metric, "_labelnames", ())) or [name for one in metric.samples for name in one.labels]


@pytest.fixture
def known(db: None) -> dict[str, set[str]]:
    return exported(figures.read())


def test_everything_that_is_asked_for_is_a_metric_of_the_product(known: dict[str, set[str]]) -> None:
    for expression in expressions():
        for selector in selectors(promql_parser.parse(expression)):
            if selector.name in FOREIGN:
                continue
            assert selector.name in known, expression
            asked = {matcher.name for matcher in selector.matchers.matchers}
            assert asked <= known[selector.name] | OF_TARGETS, expression


def test_every_metric_is_described_and_nothing_else_is(known: dict[str, set[str]]) -> None:
    described = dict(re.findall(r"^\| `(agentpods_\w+)` \|([^|]*)\|", PAGE, re.MULTILINE))
    whole = {
        re.sub(r"_(bucket|sum|count)$", "", name) if "duration" in name else name: labels
        for name, labels in known.items()
    }
    assert set(described) == set(whole)
    assert {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in described.items()} == whole


def test_every_alert_has_its_runbook_and_every_runbook_its_alert() -> None:
    named = {rule["alert"]: rule["annotations"]["runbook_url"] for rule in rules()}
    pages = {_words(name, "-") for name in named}
    assert {f"{{{{ $externalLabels.console }}}}/guide/runbooks/{page}/" for page in pages} == set(named.values())
    assert {path.stem for path in RUNBOOKS.glob("*.md")} == pages
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for name in named:
        page = _words(name, "-")
        text = (RUNBOOKS / f"{page}.md").read_text(encoding="utf-8")
        assert re.findall(r"^#+ (.*)", text, re.MULTILINE) == [name, "What it means", "What to look at", "What to do"]
        assert f"- runbooks/{page}.md\n" in navigation


def test_every_alert_says_how_bad_it_is_and_what_happens() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert rule["annotations"]["summary"].endswith(".")


def test_every_alert_was_made_to_fire_by_breaking_the_thing_and_its_runbook_was_followed() -> None:
    """By a test that has the name of the alert. They are slow: `make test-slow`."""
    modules = [ast.parse(path.read_text(encoding="utf-8")) for path in PROOFS.glob("test_*.py")]
    proofs = [node for module in modules for node in module.body if isinstance(node, ast.FunctionDef)]
    proved = [proof.name for proof in proofs if proof.name.startswith("test_")]
    assert sorted(proved) == sorted("test_" + _words(rule["alert"], "_") for rule in rules())
    for proof in (one for one in proofs if one.name in proved):
        firing = [ast.unparse(one.test) for one in ast.walk(proof) if isinstance(one, ast.Assert)]
        (alert,) = (rule["alert"] for rule in rules() if proof.name == "test_" + _words(rule["alert"], "_"))
        about = [one for one in firing if f"'{alert}'" in one and "fires" in one]
        assert any(" not " not in f" {one} " for one in about), f"{proof.name} does not see it fire"
        assert any(" not " in f" {one} " for one in about), f"{proof.name} does not see it end"


def _words(alert: str, between: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", between, alert).lower()


@pytest.mark.parametrize("name", ["platform", "programs"])
def test_the_dashboards_are_as_their_tables_say(name: str) -> None:
    assert (HERE / f"{name}.json").read_text(encoding="utf-8") == generator().written(name)
    drawn = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in drawn["panels"]]
    assert len(set(places)) == len(places)
