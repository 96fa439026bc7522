"""The chart's objects: valid for each supported cluster, hardened, and started as `make run` starts its programs."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
from django.core.management import get_commands

from agents.runtimes import management
from config.run import programs, web
from tests.deploy import chart
from tests.deploy.chart import ChartRefused, Object

pytestmark = pytest.mark.unmeasured

OLDEST = "1.31"
NEWEST = kubernetes_validate.latest_version()
NOT_IN_THE_SCHEMAS = {"HTTPRoute"}
GATEWAY = {"name": "public", "namespace": "gateway"}
SECRETS = {name: f"plain-{name}" for name in ("SECRET_KEY", "SECRETS_KEYS", "DATABASE_URL", "REDIS_URL")}
MADE_SECRET = {"existing": "", "values": SECRETS}
REMOTE = {"controlPlane": {"enabled": False}}


def combinations() -> Iterator[dict[str, Any]]:
    """All combinations of values that decide whether an object exists; other values change together."""
    for routing, expose, policies, secret, more in product(
        ("gateway", "ingress", "none"),
        ("gateway", "ingress", "none"),
        (True, False),
        (chart.MINIMAL["secret"], MADE_SECRET),
        (True, False),
    ):
        count = {"replicas": 2 if more else 1}
        yield {
            "hosting": {"routing": routing, "certificates": more, "statsThroughApi": more},
            "console": {"expose": expose, "gateway": GATEWAY},
            "networkPolicy": {"enabled": policies},
            "observer": count,
            "secret": secret,
            "backups": {"store": "s3:https://s3.example.com/bucket" if more else "", **count},
            **dict.fromkeys(("web", "worker", "workerWebhooks"), count),
        }
    yield REMOTE
    yield {"hosting": {"enabled": False}}
    yield {
        "image": {"digest": f"sha256:{'0' * 64}"},
        "imagePullSecrets": [{"name": "registry"}],
        "nodeSelector": {"pool": "control"},
        "tolerations": [{"key": "control", "operator": "Exists"}],
        "priorityClassName": "system-cluster-critical",
        "networkPolicy": {"extraEgress": [{"to": [{"ipBlock": {"cidr": "10.1.0.9/32"}}], "ports": [{"port": 25}]}]},
        "console": {"expose": "ingress", "ingress": {"className": "nginx", "annotations": {"a/b": "1"}}},
    }


@cache
def rendered() -> list[list[Object]]:
    """The objects of all combinations, rendered by one process."""
    found = chart.render_all(list(combinations()))
    refused = [str(one) for one in found if isinstance(one, ChartRefused)]
    assert refused == []
    return [one for one in found if not isinstance(one, ChartRefused)]


def with_made_secret() -> list[Object]:
    """The objects of the first combination where the chart creates the Secret."""
    return next(one for one, values in zip(rendered(), combinations(), strict=True) if values["secret"] is MADE_SECRET)


def all_objects() -> list[Object]:
    """All objects, each once: combinations share equal objects."""
    return list({id(one): one for objects in rendered() for one in objects}.values())


def of_kind(kind: str, objects: list[Object] | None = None) -> list[Object]:
    return [one for one in (all_objects() if objects is None else objects) if one["kind"] == kind]


def workloads() -> list[Object]:
    return [*of_kind("Deployment"), *of_kind("Job")]


def containers(workload: Object) -> list[Object]:
    spec = workload["spec"]["template"]["spec"]
    return [*spec.get("initContainers", []), *spec["containers"]]


def deployment(component: str) -> Object:
    (found,) = [
        one for one in of_kind("Deployment", rendered()[0]) if one["metadata"]["name"] == f"agentpods-{component}"
    ]
    return found


def command(component: str) -> list[str]:
    return list(deployment(component)["spec"]["template"]["spec"]["containers"][0]["command"])


@pytest.fixture(autouse=True)
def _schemas_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes_validate.utils, "schema_contents", _schema)


@cache
def _schema(filename: str, desired_version: str) -> object:
    return _read_schema(filename, desired_version)


_read_schema = kubernetes_validate.utils.schema_contents


def test_helms_own_linter_finds_nothing() -> None:
    assert chart.lint(chart.MINIMAL) == []


@pytest.mark.parametrize("minor", [OLDEST, NEWEST])
def test_every_combination_renders_objects_that_a_cluster_takes(minor: str) -> None:
    for one in all_objects():
        if one["kind"] not in NOT_IN_THE_SCHEMAS:
            kubernetes_validate.validate(one, minor, strict=True)


def test_no_combination_has_two_objects_of_one_name() -> None:
    for objects in rendered():
        names = [(one["apiVersion"], one["kind"], one["metadata"]["name"]) for one in objects]
        assert len(names) == len(set(names))


def test_every_object_is_labelled_as_the_releases() -> None:
    for one in all_objects():
        assert one["metadata"]["labels"]["app.kubernetes.io/instance"] == chart.RELEASE


def test_the_programs_are_those_of_the_design() -> None:
    kinds = {one["metadata"]["name"]: one["spec"] for one in of_kind("Deployment", rendered()[0])}
    names = ("web", "worker", "worker-webhooks", "beat", "observer", "backups")
    assert set(kinds) == {f"agentpods-{name}" for name in names}
    assert (kinds["agentpods-beat"]["replicas"], kinds["agentpods-beat"]["strategy"]) == (1, {"type": "Recreate"})


def test_no_program_is_root_or_may_become_it() -> None:
    for workload in workloads():
        pod = workload["spec"]["template"]["spec"]["securityContext"]
        assert pod["runAsNonRoot"] is True
        assert pod["runAsUser"] > 0
        assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in containers(workload):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "runAsNonRoot": True,
                "capabilities": {"drop": ["ALL"]},
            }


def test_every_container_has_requests_and_limits() -> None:
    for workload in workloads():
        for container in containers(workload):
            assert set(container["resources"]["limits"]) >= {"memory", "ephemeral-storage"}
            assert set(container["resources"]["requests"]) >= {"cpu", "memory"}


def test_every_program_is_probed_and_only_those_that_listen_take_requests() -> None:
    for one in of_kind("Deployment"):
        (container,) = containers(one)
        assert {"startupProbe", "livenessProbe"} <= set(container)
        assert ("readinessProbe" in container) == (container["name"] in {"web", "backups"})


def test_a_probe_that_starts_a_program_waits_as_long_as_a_busy_node_takes_for_it() -> None:
    probes = [
        probe
        for one in of_kind("Deployment")
        for container in containers(one)
        for name, probe in container.items()
        if name.endswith("Probe") and "exec" in probe
    ]
    assert probes
    assert {probe.get("timeoutSeconds", 1) for probe in probes} == {10}


@pytest.mark.parametrize(("name", "silent"), [("observer", 3), ("beat", 10), ("worker", 10), ("worker-webhooks", 10)])
def test_who_has_a_main_loop_is_probed_by_its_sign_of_life(name: str, silent: int, tmp_path: Path) -> None:
    """The probe reads only the file's age: it starts no program, and a cluster or broker may be away for a while."""
    (container,) = containers(deployment(name))
    (file,) = [one["value"] for one in container["env"] if one["name"] == "PULSE_FILE"]
    here = tmp_path / "pulse"

    def passes(probe: str) -> bool:
        shell, option, script = container[f"{probe}Probe"]["exec"]["command"]
        told = subprocess.run([shell, option, script.replace(file, str(here))], capture_output=True, check=False)
        return told.returncode == 0

    assert not passes("startup")
    assert not passes("liveness")
    here.touch()
    assert passes("startup")
    os.utime(here, (time.time() - 60 * (silent - 1),) * 2)
    assert not passes("startup")
    assert passes("liveness")
    os.utime(here, (time.time() - 60 * (silent + 1),) * 2)
    assert not passes("liveness")


def test_web_is_probed_where_it_tells_its_health() -> None:
    (container,) = containers(deployment("web"))
    paths = {name: container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")}
    assert paths == {"startup": "/health", "liveness": "/health", "readiness": "/health/ready"}


def test_what_runs_more_than_once_has_a_disruption_budget_and_nothing_else_has() -> None:
    for objects in rendered():
        several = {one["metadata"]["name"] for one in of_kind("Deployment", objects) if one["spec"]["replicas"] > 1}
        assert {one["metadata"]["name"] for one in of_kind("PodDisruptionBudget", objects)} == several


def test_every_selector_finds_pods_of_its_own_component() -> None:
    for one in of_kind("Deployment"):
        labels = one["spec"]["template"]["metadata"]["labels"]
        assert one["spec"]["selector"]["matchLabels"].items() <= labels.items()
        for spread in one["spec"]["template"]["spec"]["topologySpreadConstraints"]:
            assert spread["labelSelector"] == one["spec"]["selector"]
            assert spread["matchLabelKeys"] == ["pod-template-hash"]  # of one release
    for one in of_kind("PodDisruptionBudget"):
        component = one["metadata"]["name"].removeprefix("agentpods-")
        assert one["spec"]["selector"] == deployment(component)["spec"]["selector"]
    for one in of_kind("Service"):
        component = one["metadata"]["labels"]["app.kubernetes.io/component"]
        assert one["spec"]["selector"] == deployment(component)["spec"]["selector"]["matchLabels"]


@pytest.mark.parametrize("name", ["worker", "worker-webhooks"])
def test_workers_start_as_make_run_starts_them(name: str) -> None:
    assert _after("config.celery", command(name)) == _after("config.celery", _of_make_run(name))


def test_beat_starts_as_make_run_starts_it_but_for_the_place_of_its_schedule() -> None:
    ours, its = _after("config.celery", command("beat")), _after("config.celery", _of_make_run("beat"))
    assert ours[:2] + ours[3:] == its[:2] + its[3:]


def test_web_starts_as_make_run_starts_it_but_for_every_address() -> None:
    start = command("web")
    assert start[:3] == ["python", "-m", "config.run.web"]
    given = web.arguments(start[3:], port=0)
    assert (given.address, given.port) == ("0.0.0.0", 8000)
    assert given.drain_seconds * 1000 > web.HEADER_MILLISECONDS  # longer than any connection stays idle
    assert given.stop_seconds >= management.TURN_SECONDS
    grace = deployment("web")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace > given.drain_seconds + given.stop_seconds


def test_every_command_of_manage_py_exists() -> None:
    used = {
        container["command"][2]
        for workload in workloads()
        for container in containers(workload)
        if container["command"][1] == "manage.py"
    }
    assert used == {"migrate", "load_catalog", "observe"}
    assert used <= set(get_commands())


def test_the_job_migrates_before_it_loads_the_catalog_and_before_anything_else_is_there() -> None:
    objects = with_made_secret()
    (job,) = of_kind("Job", objects)
    assert [one["command"][2] for one in containers(job)] == ["migrate", "load_catalog"]
    hooks = [one for one in objects if "helm.sh/hook" in one["metadata"].get("annotations", {})]
    assert {one["kind"] for one in hooks} == {"Job", "Secret", "NetworkPolicy"}
    assert {one["metadata"]["annotations"]["helm.sh/hook"] for one in hooks} == {"pre-install,pre-upgrade"}
    own = {one["metadata"]["name"] for one in hooks if one["kind"] == "Secret"}
    assert {one["envFrom"][0]["secretRef"]["name"] for one in containers(job)} == own


def test_secrets_are_in_secrets_alone() -> None:
    objects = with_made_secret()
    others = json.dumps([one for one in objects if one["kind"] != "Secret"])
    assert [value for value in SECRETS.values() if value in others] == []
    assert len(of_kind("Secret", objects)) == 2
    for workload in workloads():
        for container in containers(workload):
            assert not {one["name"] for one in container["env"] if "value" in one} & set(SECRETS)
            assert container["envFrom"][0]["secretRef"]["name"]


BUCKET = {"BACKUP_ACCESS_KEY": "opens it", "BACKUP_SECRET_KEY": "opens it too"}


@pytest.mark.parametrize(
    "given",
    [
        {"secret": {"existing": "", "values": {**SECRETS, **BUCKET}}},
        {"extraEnv": [{"name": name, "valueFrom": {"secretKeyRef": {"name": "s", "key": name}}} for name in BUCKET]},
        {"extraEnv": [{"name": "BACKUP_ACCESS_KEY_FILE", "value": "/etc/bucket/key"}]},
    ],
    ids=["among the secrets", "among extraEnv", "as a file"],
)
def test_only_the_endpoint_and_the_workers_have_what_opens_the_bucket_of_backups(given: dict[str, Any]) -> None:
    """Web and the other programs read backups through the endpoint and create none."""
    objects = chart.render({**given, "backups": {"store": "s3:https://s3.example.com/bucket"}})
    have = set()
    for workload in (one for one in objects if one["kind"] in {"Deployment", "Job"}):
        for container in containers(workload):
            env = container["env"]
            names = [one["name"] for one in env]
            assert len(names) == len(set(names)), "an entry that is there twice is refused by server-side apply"
            secret = given.get("secret", {}).get("values", {})
            own = {one["name"]: one.get("value") or one.get("valueFrom") for one in env}
            in_effect = {**secret, **own}  # as Kubernetes combines them
            if any(value for name, value in in_effect.items() if name.startswith(("BACKUP_ACCESS", "BACKUP_SECRET"))):
                have.add(workload["metadata"]["name"])
    assert have == {"agentpods-backups", "agentpods-worker", "agentpods-worker-webhooks"}


def test_pods_start_anew_when_the_charts_own_secret_changes() -> None:
    cases = [SECRETS, {**SECRETS, "SECRET_KEY": "another"}]
    marks = set()
    for objects in chart.render_all([{"secret": {"existing": "", "values": values}} for values in cases]):
        assert not isinstance(objects, ChartRefused)
        for one in of_kind("Deployment", objects):
            marks.add(one["spec"]["template"]["metadata"]["annotations"]["checksum/settings"])
    assert len(marks) == 2


def test_the_console_has_the_route_that_was_chosen() -> None:
    (route,) = of_kind("HTTPRoute", rendered()[0])
    assert route["apiVersion"] == "gateway.networking.k8s.io/v1"
    assert route["spec"] == {
        "parentRefs": [GATEWAY],
        "hostnames": ["console.example.com"],
        "rules": [{"backendRefs": [{"name": "agentpods-web", "port": 80}]}],
    }


def test_the_notes_say_what_the_admin_is_to_be_told() -> None:
    told = chart.notes()
    assert "control namespace agentpods-system" in told
    assert "router namespace gateway" in told


def _of_make_run(name: str) -> list[str]:
    (program,) = [one for one in programs.programs() if one.name == name]
    return program.command


def _after(word: str, words: list[str]) -> list[str]:
    return words[words.index(word) + 1 :]
