"""The values of the chart: every setting is accepted; unknown values, wrong values and plain secrets are refused."""

from __future__ import annotations

import base64
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy import chart

pytestmark = pytest.mark.unmeasured

ROOT = chart.CHART.parents[2]
SCHEMA = json.loads((chart.CHART / "values.schema.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
SECRET = set(re.findall(r"^\| `([A-Z_]+)` \*secret\*", PAGE, re.MULTILINE))
SETTINGS = set(re.findall(r"^\| `([A-Z_]+)`", PAGE, re.MULTILINE))
OWN = set(SCHEMA["definitions"]["chartsOwn"]["enum"])
NEEDED = dict.fromkeys(("SECRET_KEY", "SECRETS_KEYS", "DATABASE_URL"), "x")

# The values, and a word of the refusal.
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"replica": 3}, "'replica' not allowed"),
    ({"web": {"replica": 3}}, "'replica' not allowed"),
    ({"web": {"replicas": 0}}, "/web/replicas"),
    ({"web": {"replicas": "two"}}, "/web/replicas"),
    ({"web": {"resources": {"limits": {"memory": 512}}}}, "/web/resources/limits/memory"),
    ({"worker": None}, "missing property 'worker'"),
    ({"web": {"autoscaling": {"maxReplica": 3}}}, "'maxReplica' not allowed"),
    ({"web": {"nodeSelector": {"a": 1}}}, "/web/nodeSelector/a"),
    ({"affinity": {"nodeAfinity": {}}}, "'nodeAfinity' not allowed"),
    ({"podLabels": {"app.kubernetes.io/name": "other"}}, "app.kubernetes.io/name"),
    ({"extraVolumes": [{"name": "tmp", "emptyDir": {}}]}, "/extraVolumes/0/name"),
    ({"extraVolumeMounts": [{"name": "one", "mountPath": "relative"}]}, "/extraVolumeMounts/0/mountPath"),
    ({"serviceAccount": {"annotation": {}}}, "'annotation' not allowed"),
    ({"prePull": {"enabled": "yes"}}, "/prePull/enabled"),
    ({"observer": {"replicas": 3}}, "/observer/replicas"),
    ({"observer": {"statsThroughApi": True}}, "'statsThroughApi' not allowed"),
    ({"image": {"repository": ""}}, "/image/repository"),
    ({"image": {"digest": "sha256:1"}}, "/image/digest"),
    ({"image": {"pullPolicy": "Sometimes"}}, "/image/pullPolicy"),
    ({"engineImages": {"pi": None}}, "/engineImages"),
    ({"engineImages": {"pi": "a,b"}}, "/engineImages/pi"),
    ({"console": {"host": "https://console.example.com"}}, "/console/host"),
    ({"console": {"trustedProxies": []}}, "/console/trustedProxies"),
    ({"console": {"trustedProxies": ["10.0.0.1"]}}, "/console/trustedProxies/0"),
    ({"console": {"expose": "gateway"}}, "/console/gateway/name"),
    ({"console": {"expose": "router"}}, "/console/expose"),
    ({"hosting": {"routing": "router"}}, "/hosting/routing"),
    ({"hosting": {"statsThroughApi": "yes"}}, "/hosting/statsThroughApi"),
    ({"hosting": {"enabled": False}, "controlPlane": {"enabled": False}}, "/hosting/enabled"),
    ({"networkPolicy": {"gatewayNamespace": ""}}, "/networkPolicy/gatewayNamespace"),
    ({"networkPolicy": {"ownNetworks": ["9.9.9.9"]}}, "/networkPolicy/ownNetworks/0"),
    ({"networkPolicy": {"database": {"to": [{"host": "db"}]}}}, "'host' not allowed"),
    ({"secret": {"existing": ""}}, "/secret"),
    ({"secret": {"existing": "", "values": NEEDED}}, "missing property 'REDIS_URL'"),
    ({"secret": {"existing": "both", "values": {**NEEDED, "REDIS_URL": "x"}}}, "/secret"),
    ({"secret": {"values": {"TRIAL_DAYS": "7"}}}, "TRIAL_DAYS"),
    ({"env": {"TRIAL_DAYS": 7}}, "/env/TRIAL_DAYS"),
    ({"env": {"trial days": "7"}}, "trial days"),
    ({"env": {"AGENT_RUNTIME": "local"}}, "AGENT_RUNTIME"),
    ({"env": {"SECRET_KEY": "in plain sight"}}, "SECRET_KEY"),
    ({"extraEnv": [{"name": "SECRET_KEY", "value": "in plain sight"}]}, "/extraEnv/0"),
    ({"extraEnv": [{"name": "AGENTPODS_ENV", "value": "development"}]}, "/extraEnv/0"),
]


@cache
def refusals() -> list[str]:
    """Helm's refusals of REFUSED, by one process; empty where Helm accepted the values."""
    answers = chart.render_all([values for values, _ in REFUSED])
    return [str(one) if isinstance(one, chart.ChartRefused) else "" for one in answers]


@pytest.mark.parametrize("number", range(len(REFUSED)), ids=[json.dumps(values) for values, _ in REFUSED])
def test_wrong_values_are_refused_by_name(number: int) -> None:
    assert REFUSED[number][1] in refusals()[number]


def test_nothing_is_assumed_that_only_the_operator_knows() -> None:
    findings = "".join(chart.lint({}))
    for place in (
        "/image/repository",
        "/console/host",
        "/platform/domain",
        "/secret",
        "/networkPolicy/gatewayNamespace",
        "missing property 'ownNetworks'",
    ):
        assert place in findings


@pytest.mark.parametrize(
    "page",
    [chart.CHART / "README.md", ROOT / "docs" / "how-to" / "install-on-kubernetes.md"],
    ids=lambda page: page.name,
)
def test_the_values_that_the_documentation_shows_are_enough(page: Path) -> None:
    (shown,) = re.findall(r"^```yaml\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert chart.lint(yaml.safe_load(shown)) == []


def test_a_cluster_that_only_hosts_needs_no_other_values() -> None:
    assert chart.lint({"controlPlane": {"enabled": False}}) == []


def test_the_schema_knows_which_settings_are_secret() -> None:
    assert set(SCHEMA["definitions"]["secretSettings"]["enum"]) == SECRET


def test_every_setting_can_be_given() -> None:
    plain = {name: f"plain-{name}" for name in SETTINGS - SECRET - OWN}
    secret = {name: f"secret-{name}" for name in SECRET}
    objects = chart.render({"env": plain, "secret": {"existing": "", "values": secret}})
    (settings,) = [
        one for one in objects if one["kind"] == "Secret" and one["metadata"]["name"] == "agentpods-settings"
    ]
    assert {name: base64.b64decode(value).decode() for name, value in settings["data"].items()} == secret
    for one in objects:
        if one["kind"] == "Deployment":
            (container,) = one["spec"]["template"]["spec"]["containers"]
            given = {entry["name"]: entry["value"] for entry in container["env"]}
            assert given.items() >= plain.items()
            assert len(given) == len(container["env"])


def test_the_chart_runs_the_production_of_its_own_image() -> None:
    (web,) = [
        one for one in chart.render() if one["metadata"]["name"] == "agentpods-web" and one["kind"] == "Deployment"
    ]
    (container,) = web["spec"]["template"]["spec"]["containers"]
    env = {entry["name"]: entry["value"] for entry in container["env"]}
    assert container["image"] == env["POD_IMAGE"] == "registry.example.com/agentpods:1.0.0"
    assert env["ENGINE_IMAGES"] == "pi=registry.example.com/agentpods-pi:1.0.0"
    assert (env["AGENTPODS_ENV"], env["AGENT_RUNTIME"]) == ("production", "kubernetes")
    assert (env["BASE_URL"], env["PLATFORM_DOMAIN"]) == ("https://console.example.com", "pods.example.net")
