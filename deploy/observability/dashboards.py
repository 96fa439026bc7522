"""Writes the dashboards for Grafana: `python deploy/observability/dashboards.py`. The JSON files are committed.

A dashboard is a list of rows, a row a list of panels. A test compares the files with these tables.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SOURCE = {"type": "prometheus", "uid": "${source}"}
WIDTH, HEIGHT = 24, 8


@dataclass(frozen=True)
class Panel:
    title: str
    unit: str  # of Grafana: short, s, bytes, percentunit, reqps
    lines: dict[str, str]  # PromQL by legend


def _quantile(share: float) -> str:
    buckets = "rate(agentpods_http_request_duration_seconds_bucket[5m])"
    return f"histogram_quantile({share}, sum by (le) ({buckets}))"


PLATFORM = [
    [
        Panel("Agents by state", "short", {"{{status}}, wanted {{desired}}": "agentpods_agents"}),
        Panel("Failed agents by cause", "short", {"{{cause}}": "agentpods_agents_failed"}),
    ],
    [
        Panel(
            "Must be 0",
            "short",
            {
                "unpaid but running": "agentpods_unpaid_running_agents",
                "paid but stopped": "agentpods_paid_stopped_agents",
                "contradictions in the ledger": "sum(increase(agentpods_ledger_findings_total[26h]))",
                "silent clusters": "agentpods_clusters_silent",
                "mail fails": "agentpods_mail_failing",
            },
        ),
        Panel(
            "Turns with agents",
            "reqps",
            {"{{outcome}} at {{hop}}": "sum by (hop, outcome) (rate(agentpods_turns_total[5m]))"},
        ),
    ],
    [
        Panel("Memory of agents", "bytes", {"{{kind}}": 'agentpods_usage_bytes{kind=~"memory_.*"}'}),
        Panel("Disk of agents", "bytes", {"{{kind}}": 'agentpods_usage_bytes{kind=~"disk_.*"}'}),
    ],
    [
        Panel("Age of the oldest backup", "s", {"oldest": "agentpods_backups_oldest_age_seconds"}),
        Panel(
            "Backups",
            "short",
            {"last one failed": "agentpods_backups_failing", "too old": "agentpods_backups_too_old"},
        ),
    ],
]
PROGRAMS = [
    [
        Panel(
            "Requests by status", "reqps", {"{{status}}": "sum by (status) (rate(agentpods_http_requests_total[5m]))"}
        ),
        Panel(
            "Requests that do not end with 500",
            "percentunit",
            {
                "available": 'sum(rate(agentpods_http_requests_total{status!="500"}[5m]))'
                " / sum(rate(agentpods_http_requests_total[5m]))"
            },
        ),
    ],
    [
        Panel("Time of requests", "s", {f"{share:.0%}": _quantile(share) for share in (0.5, 0.95, 0.99)}),
        Panel(
            "Busiest routes",
            "reqps",
            {"{{method}} {{route}}": "topk(10, sum by (method, route) (rate(agentpods_http_requests_total[5m])))"},
        ),
    ],
    [
        Panel("Oldest due work", "s", {"{{work}}": "agentpods_oldest_due_seconds"}),
        Panel("Queues", "short", {"{{queue}}": "agentpods_queue_length"}),
    ],
    [
        Panel("Late loops", "short", {"{{loop}}": "agentpods_loop_late == 1"}),
        Panel(
            "Tasks that fail",
            "reqps",
            {"{{task}}": 'sum by (task) (rate(agentpods_tasks_total{outcome="failed"}[5m]))'},
        ),
    ],
    [
        Panel(
            "Attempts to deliver",
            "reqps",
            {"{{outcome}}": "sum by (outcome) (rate(agentpods_delivery_attempts_total[5m]))"},
        ),
        Panel(
            "Visitors of agents, by router",
            "reqps",
            {"{{by}} {{status}}": "sum by (by, status) (rate(agentpods_router_requests_total[5m]))"},
        ),
    ],
    [
        Panel(
            "Threads that wait for a database connection",
            "short",
            {"{{program}} {{instance}}": "agentpods_database_pool_waiting"},
        ),
        Panel("Memory of programs", "bytes", {"{{program}} {{instance}}": "process_resident_memory_bytes"}),
    ],
]
DASHBOARDS = {"platform": ("Agentpods: the platform", PLATFORM), "programs": ("Agentpods: its programs", PROGRAMS)}


def dashboard(name: str) -> dict[str, Any]:
    title, rows = DASHBOARDS[name]
    placed = [(panel, row, place, len(panels)) for row, panels in enumerate(rows) for place, panel in enumerate(panels)]
    return {
        "uid": f"agentpods-{name}",
        "title": title,
        "schemaVersion": 39,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [{"name": "source", "type": "datasource", "query": "prometheus", "label": "Prometheus"}]
        },
        "panels": [
            _drawn(panel, number, {"x": WIDTH // beside * place, "y": HEIGHT * row, "w": WIDTH // beside, "h": HEIGHT})
            for number, (panel, row, place, beside) in enumerate(placed, start=1)
        ],
    }


def _drawn(panel: Panel, number: int, position: dict[str, int]) -> dict[str, Any]:
    return {
        "id": number,
        "type": "timeseries",
        "title": panel.title,
        "datasource": SOURCE,
        "gridPos": position,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + place), "datasource": SOURCE, "expr": expression, "legendFormat": legend}
            for place, (legend, expression) in enumerate(panel.lines.items())
        ],
    }


def written(name: str) -> str:
    return json.dumps(dashboard(name), indent=1) + "\n"


if __name__ == "__main__":
    for each in DASHBOARDS:
        (HERE / f"{each}.json").write_text(written(each), encoding="utf-8")
