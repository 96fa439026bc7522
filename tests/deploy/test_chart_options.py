"""Options of operators for the pods of the chart's programs, and for the objects beside them."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.deploy import chart
from tests.deploy.chart import Object

pytestmark = pytest.mark.unmeasured

OWN = {"key": "console", "operator": "Exists"}
VALUES: dict[str, Any] = {
    "podLabels": {"team": "agents"},
    "podAnnotations": {"example.com/scrape": "true"},
    "serviceAccount": {"annotations": {"example.com/role": "agents"}},
    "extraVolumes": [{"name": "authorities", "configMap": {"name": "authorities"}}],
    "extraVolumeMounts": [{"name": "authorities", "mountPath": "/etc/authorities", "readOnly": True}],
    "nodeSelector": {"pool": "all"},
    "affinity": {"podAntiAffinity": {}},
    "web": {
        "autoscaling": {"enabled": True, "maxReplicas": 9},
        "nodeSelector": {"pool": "web"},
        "tolerations": [OWN],
        "priorityClassName": "console",
    },
    "prePull": {"enabled": True, "nodeSelector": {"pool": "agents"}, "tolerations": [OWN]},
    "secret": {
        "existing": "",
        "values": dict.fromkeys(("SECRET_KEY", "SECRETS_KEYS", "DATABASE_URL", "REDIS_URL"), "x"),
    },
}


@cache
def rendered() -> list[Object]:
    return chart.render(VALUES)


def of_kind(kind: str) -> dict[str, Object]:
    return {one["metadata"]["name"]: one for one in rendered() if one["kind"] == kind}


def test_every_program_has_the_labels_annotations_and_files_that_are_given() -> None:
    programs = [*of_kind("Deployment").values(), *of_kind("Job").values()]
    assert len(programs) == 6
    for program in programs:
        template = program["spec"]["template"]
        assert template["metadata"]["labels"]["team"] == "agents"
        assert template["metadata"]["annotations"]["example.com/scrape"] == "true"
        assert "checksum/settings" in template["metadata"]["annotations"]
        assert {"name": "authorities", "configMap": {"name": "authorities"}} in template["spec"]["volumes"]
        for container in template["spec"]["containers"]:
            assert VALUES["extraVolumeMounts"][0] in container["volumeMounts"]
        assert template["spec"]["affinity"] == {"podAntiAffinity": {}}


def test_a_label_that_is_given_does_not_decide_which_pods_are_a_programs() -> None:
    for program in of_kind("Deployment").values():
        assert "team" not in program["spec"]["selector"]["matchLabels"]


def test_what_is_said_of_one_program_stands_in_place_of_what_is_said_of_all() -> None:
    web, worker = (of_kind("Deployment")[f"agentpods-{name}"]["spec"]["template"]["spec"] for name in ("web", "worker"))
    assert (web["nodeSelector"], web["tolerations"], web["priorityClassName"]) == ({"pool": "web"}, [OWN], "console")
    assert (worker["nodeSelector"], worker.get("tolerations"), worker.get("priorityClassName")) == (
        {"pool": "all"},
        None,
        None,
    )


def test_a_program_that_scales_by_itself_says_no_number_of_pods() -> None:
    assert "replicas" not in of_kind("Deployment")["agentpods-web"]["spec"]
    assert of_kind("Deployment")["agentpods-worker"]["spec"]["replicas"] == 2
    ((name, scaler),) = of_kind("HorizontalPodAutoscaler").items()
    spec = scaler["spec"]
    assert (name, spec["scaleTargetRef"]["name"]) == ("agentpods-web", "agentpods-web")
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 9)


def test_accounts_have_the_annotations_that_are_given() -> None:
    assert {name: one["metadata"]["annotations"] for name, one in of_kind("ServiceAccount").items()} == {
        "agentpods-drive": {"example.com/role": "agents"},
        "agentpods-observe": {"example.com/role": "agents"},
    }


def test_images_of_agents_pods_are_brought_to_their_nodes_by_pods_that_may_do_nothing() -> None:
    (daemon,) = of_kind("DaemonSet").values()
    pod = daemon["spec"]["template"]["spec"]
    images = {one["image"] for one in [*pod["initContainers"], *pod["containers"]]}
    assert images == {"registry.example.com/agentpods:1.0.0", "registry.example.com/agentpods-pi:1.0.0"}
    assert (pod["nodeSelector"], pod["tolerations"]) == ({"pool": "agents"}, [OWN])
    assert pod["automountServiceAccountToken"] is False
    for container in [*pod["initContainers"], *pod["containers"]]:
        assert "env" not in container
        assert container["securityContext"]["allowPrivilegeEscalation"] is False


def test_without_being_asked_for_there_is_none_of_it() -> None:
    kinds = {one["kind"] for one in chart.render()}
    assert not kinds & {"HorizontalPodAutoscaler", "DaemonSet"}
