"""Metrics in the chart: off until an operator says who may read them, and then on each program."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.deploy import chart
from tests.deploy.chart import Object

pytestmark = pytest.mark.unmeasured

READERS = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
BACKUPS = {"store": "s3:https://s3.example.com/bucket"}
ON: dict[str, Any] = {
    "backups": BACKUPS,
    "metrics": {
        "enabled": True,
        "from": READERS,
        "podMonitor": True,
        "annotations": True,
        "labels": {"release": "prometheus"},
    },
}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"metrics": {"enabled": True}}, "/metrics/from"),
    ({"metrics": {"podMonitor": True}}, "/metrics/podMonitor"),
    ({"metrics": {"enabled": "yes"}}, "/metrics/enabled"),
    ({"env": {"METRICS_PORT": "9000"}}, "METRICS_PORT"),
]


@cache
def rendered() -> list[list[Object] | chart.ChartRefused]:
    return chart.render_all([{"backups": BACKUPS}, ON, *(values for values, _ in WRONG)])


def objects(number: int, kind: str) -> dict[str, Object]:
    found = rendered()[number]
    assert not isinstance(found, chart.ChartRefused), found
    return {one["metadata"]["name"]: one for one in found if one["kind"] == kind}


def containers(number: int) -> list[Object]:
    return [one["spec"]["template"]["spec"]["containers"][0] for one in objects(number, "Deployment").values()]


def test_nothing_is_served_or_opened_by_default() -> None:
    for container in containers(0):
        assert "METRICS_PORT" not in {entry["name"] for entry in container["env"]}
        assert "metrics" not in {port["name"] for port in container.get("ports", [])}
    assert "agentpods-metrics" not in objects(0, "NetworkPolicy")
    assert objects(0, "PodMonitor") == {}


def test_each_program_serves_its_metrics_and_keeps_its_own_ports() -> None:
    assert len(containers(1)) == 6
    for container in containers(1):
        env = {entry["name"]: entry["value"] for entry in container["env"]}
        assert (env["METRICS_PORT"], env["METRICS_ADDRESS"]) == ("9600", "0.0.0.0")  # of a pod
        assert {"name": "metrics", "containerPort": 9600} in container["ports"]
    ports = {
        container["name"]: {port["name"]: port["containerPort"] for port in container["ports"]}
        for container in containers(1)
    }
    assert ports["web"] == {"http": 8000, "metrics": 9600}
    assert ports["backups"] == {"backups": 8300, "metrics": 9600}


def test_only_who_is_named_may_read_them() -> None:
    (rule,) = objects(1, "NetworkPolicy")["agentpods-metrics"]["spec"]["ingress"]
    assert rule == {"from": READERS, "ports": [{"protocol": "TCP", "port": 9600}]}


def test_prometheus_finds_them_by_a_monitor_or_by_annotations() -> None:
    monitor = objects(1, "PodMonitor")["agentpods"]
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    assert monitor["spec"]["podMetricsEndpoints"][0]["port"] == "metrics"
    for program in objects(1, "Deployment").values():
        annotations = program["spec"]["template"]["metadata"]["annotations"]
        assert (annotations["prometheus.io/scrape"], annotations["prometheus.io/port"]) == ("true", "9600")


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_values_that_would_do_nothing_or_open_too_much_are_refused(number: int) -> None:
    refused = rendered()[2 + number]
    assert isinstance(refused, chart.ChartRefused)
    assert WRONG[number][1] in str(refused)
