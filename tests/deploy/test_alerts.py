"""Prometheus' own `promtool` on the alerts: each fires where it should, and none on a day when all is well.

The program is Debian's (tests/debian.py), 19 MB; no package of PyPI or npm has it.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.debian import program
from tests.deploy.test_observability import HERE, rules

pytestmark = pytest.mark.slow

SERIES = {"interval": "1m", "external_labels": {"console": "https://console.example.com"}}
# All is well: each series with its values, by minutes.
WELL = {
    'up{job="agentpods",program="web",instance="a"}': "1x100",
    "agentpods_figures_up": "1x100",
    "agentpods_redis_up": "1x100",
    'agentpods_database_pool_timeouts_total{program="web",instance="a"}': "0x100",
    'agentpods_http_requests_total{status="200",route="/tiers"}': "0+600x100",
    'agentpods_http_requests_total{status="500",route="/tiers"}': "0+1x100",
    'agentpods_http_requests_total{status="503",route="/agents/<str:id>/chat"}': "0+100x100",
    'agentpods_http_request_duration_seconds_bucket{route="/tiers",le="0.1"}': "0+600x100",
    'agentpods_http_request_duration_seconds_bucket{route="/tiers",le="2.5"}': "0+601x100",
    'agentpods_http_request_duration_seconds_bucket{route="/tiers",le="+Inf"}': "0+601x100",
    'agentpods_http_request_duration_seconds_bucket{route="/agents/<str:id>/chat",le="60"}': "0+900x100",
    'agentpods_http_request_duration_seconds_bucket{route="/agents/<str:id>/chat",le="+Inf"}': "0+900x100",
    'agentpods_web_refused_requests_total{status="503"}': "0x100",
    'agentpods_loop_late{loop="webhooks.drain"}': "0x100",
    'agentpods_queue_length{queue="default"}': "20x100",
    'agentpods_oldest_due_seconds{work="agents"}': "2x100",
    'agentpods_oldest_due_seconds{work="backups"}': "3600x100",
    "agentpods_mail_failing": "0x100",
    'agentpods_delivery_attempts_total{outcome="delivered"}': "0+60x100",
    'agentpods_delivery_attempts_total{outcome="given_up"}': "0+6x100",
    'agentpods_agents_failed{cause="OOM"}': "4x100",
    'agentpods_agents{status="running",desired="running"}': "1000x100",
    'agentpods_turns_total{hop="none",outcome="answered"}': "0+60x100",
    'agentpods_turns_total{hop="model",outcome="failed"}': "0+60x100",
    'agentpods_turns_total{hop="gateway",outcome="failed"}': "0+1x100",
    "agentpods_clusters_silent": "0x100",
    "agentpods_backups_well": "1x100",
    "agentpods_drills_well": "1x100",
    "agentpods_unpaid_running_agents": "0x100",
    "agentpods_paid_stopped_agents": "0x100",
    "agentpods_ledger_findings_total": "0x100",
    'agentpods_slo_target_ratio{slo="api"}': "0.999x100",
    'agentpods_slo_events_total{slo="api",outcome="good"}': "0+2x100",
    'agentpods_slo_events_total{slo="api",outcome="bad"}': "0x100",
    'agentpods_slo_target_ratio{slo="deliveries"}': "0.99x100",
    'agentpods_slo_events_total{slo="deliveries",outcome="good"}': "0+600x60 0+600x40",  # midnight
    'agentpods_slo_events_total{slo="deliveries",outcome="bad"}': "0+6x60 0+6x40",
}
# What is different when an alert fires. None: the series is missing.
BROKEN: dict[str, dict[str, str | None]] = {
    "ProcessDown": {'up{job="agentpods",program="web",instance="a"}': "0x100"},
    "BeatSilent": {"agentpods_figures_up": None},
    "DatabaseDown": {"agentpods_figures_up": "0x100"},
    "RedisDown": {"agentpods_redis_up": "0x100"},
    "DatabasePoolExhausted": {'agentpods_database_pool_timeouts_total{program="web",instance="a"}': "0+1x100"},
    "ApiErrors": {'agentpods_http_requests_total{status="500",route="/tiers"}': "0+20x100"},
    "ApiSlow": {'agentpods_http_request_duration_seconds_bucket{route="/tiers",le="0.1"}': "0+300x100"},
    "WebOverloaded": {'agentpods_web_refused_requests_total{status="503"}': "0+60x100"},
    "LoopLate": {'agentpods_loop_late{loop="webhooks.drain"}': "1x100"},
    "QueueLong": {'agentpods_queue_length{queue="default"}': "1500x100"},
    "WorkOverdue": {'agentpods_oldest_due_seconds{work="agents"}': "700x100"},
    "MailFailing": {"agentpods_mail_failing": "1x100"},
    "DeliveriesFailing": {'agentpods_delivery_attempts_total{outcome="given_up"}': "0+90x100"},
    "AgentsFailing": {'agentpods_agents_failed{cause="OOM"}': "80x100"},
    "TurnsFailing": {'agentpods_turns_total{hop="gateway",outcome="failed"}': "0+60x100"},
    "ClustersSilent": {"agentpods_clusters_silent": "1x100"},
    "BackupsLate": {"agentpods_backups_well": "0x100"},
    "DrillsFailing": {"agentpods_drills_well": "0x100"},
    "UnpaidButRunning": {"agentpods_unpaid_running_agents": "1x100"},
    "PaidButStopped": {"agentpods_paid_stopped_agents": "1x100"},
    # One bad of a hundred is well, 8 are six times too many, 20 are more than 14 times too many.
    "SloBurningSlow": {'agentpods_slo_events_total{slo="deliveries",outcome="bad"}': "0+50x60 0+50x40"},
    "SloBurningFast": {
        # Seven minutes, which SloBurningSlow does not take for more than a moment.
        'agentpods_slo_events_total{slo="api",outcome="good"}': "0+2x87 174x12",
        'agentpods_slo_events_total{slo="api",outcome="bad"}': "0x87 0+2x12",
    },
    "LedgerFindings": {"agentpods_ledger_findings_total": "0x20 2x80"},
}


def day(different: dict[str, str | None], *, firing: list[str]) -> dict[str, Any]:
    """A test of promtool: after an hour and a half, exactly these alerts fire."""
    series = {name: values for name, values in (WELL | different).items() if values is not None}
    asked = 'count by (alertname) (ALERTS{alertstate="firing"})'
    expected = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in firing]
    return {
        **SERIES,
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [{"expr": asked, "eval_time": "1h35m", "exp_samples": expected}],
    }


def promtool(*arguments: str) -> None:
    command = [str(program("promtool", package="prometheus")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_are_rules() -> None:
    promtool("check", "rules", str(HERE / "alerts.yaml"))


def test_the_configuration_for_make_run_is_one() -> None:
    promtool("check", "config", str(HERE / "prometheus.yml"))


def test_each_alert_fires_alone_when_its_own_trouble_comes(tmp_path: Path) -> None:
    assert set(BROKEN) == {rule["alert"] for rule in rules()}
    days = [day({}, firing=[]), *(day(different, firing=[name]) for name, different in BROKEN.items())]
    days[-1]["alert_rule_test"] = [
        {
            "eval_time": "1h35m",
            "alertname": "LedgerFindings",
            "exp_alerts": [
                {
                    "exp_labels": {"severity": "critical"},
                    "exp_annotations": {
                        "summary": "The daily ledger checks found contradictions.",
                        "runbook_url": "https://console.example.com/guide/runbooks/ledger-findings/",
                    },
                }
            ],
        }
    ]
    written = {"rule_files": [str(HERE / "alerts.yaml")], "evaluation_interval": "1m", "tests": days}
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(written), encoding="utf-8")
    promtool("test", "rules", str(tmp_path / "tests.yaml"))
