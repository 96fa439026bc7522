"""Who may do what: the accounts' rights to the letter, tokens, and whom each program may reach."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from agents.clusters import checking
from agents.runtimes.kubernetes.place import Place, Routes, Routing
from config.celery import BEAT
from tests.deploy import chart
from tests.deploy.chart import Object, Refused

pytestmark = pytest.mark.unmeasured

CASES: dict[str, dict[str, Any]] = {
    "usual": {},
    "ingress": {"hosting": {"routing": "ingress"}},
    "no routing": {"hosting": {"routing": "none"}},
    "no certificates": {"hosting": {"certificates": False}},
    "statistics through the API": {"hosting": {"statsThroughApi": True}},
    "pods with private addresses elsewhere": {
        "networkPolicy": {"agents": {"to": [{"ipBlock": {"cidr": "10.64.0.0/12"}}]}}
    },
    "hosting elsewhere": {"hosting": {"enabled": False}},
    "hosting alone": {"controlPlane": {"enabled": False}},
}

Rule = tuple[str, frozenset[str], frozenset[str]]


def rule(group: str, resources: str, verbs: str) -> Rule:
    return group, frozenset(resources.split()), frozenset(verbs.split())


MAKE, ROUTE = "get create patch", "get create patch delete"
ALWAYS = {
    rule("", "namespaces", "get list create patch delete"),
    rule("", "resourcequotas limitranges secrets services persistentvolumeclaims", MAKE),
    rule("", "persistentvolumes", "get list patch"),
    rule("", "pods events nodes", "list"),
    rule("storage.k8s.io", "storageclasses", "list"),
    rule("apps", "deployments", MAKE),
    rule("networking.k8s.io", "networkpolicies", MAKE),
}
ROUTES = rule("gateway.networking.k8s.io", "httproutes", ROUTE)
ROUTES_AND_LISTENERS = rule("gateway.networking.k8s.io", "httproutes listenersets", ROUTE)
INGRESSES = rule("networking.k8s.io", "ingresses", ROUTE)
INGRESS_CLASSES = rule("networking.k8s.io", "ingressclasses", "list")
CERTIFICATES = rule("cert-manager.io", "certificates", ROUTE)
OBSERVE = {
    rule("", "namespaces pods", "get list watch"),
    rule("apps", "deployments", "get list watch"),
    rule("", "events", "list"),
}
STATS = rule("", "nodes/stats", "get")
STATS_THROUGH_API = rule("", "nodes/stats nodes/proxy", "get")
# As the admin's form says the same of a cluster; `through_api` is its field `stats_through_api`.
PLACES = {
    "usual": Routes(routing=Routing.GATEWAY, certificate_issuer="letters"),
    "ingress": Routes(routing=Routing.INGRESS, certificate_issuer="letters"),
    "no routing": Routes(routing=Routing.NONE),
    "no certificates": Routes(routing=Routing.GATEWAY),
    "statistics through the API": Routes(routing=Routing.GATEWAY, certificate_issuer="letters"),
}
INTERNAL = {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10", "127.0.0.0/8"}


@cache
def rendered() -> dict[str, list[Object]]:
    answers = chart.render_all(list(CASES.values()))
    return {name: one for name, one in zip(CASES, answers, strict=True) if not isinstance(one, Refused)}


def rights(case: str, account: str) -> set[Rule]:
    return {
        (group, frozenset(one["resources"]), frozenset(one["verbs"]))
        for one in chart.role_rules(rendered()[case], account)
        for group in one["apiGroups"]
    }


def of_kind(case: str, kind: str) -> list[Object]:
    return [one for one in rendered()[case] if one["kind"] == kind]


def pods(case: str) -> dict[str, Object]:
    """The specification of each program's pods by its component, the job's too."""
    workloads = [*of_kind(case, "Deployment"), *of_kind(case, "Job")]
    return {
        one["metadata"]["labels"]["app.kubernetes.io/component"]: one["spec"]["template"]["spec"] for one in workloads
    }


def egress(case: str, policy: str) -> tuple[list[str], list[Object]]:
    """For which components a policy is, and whom they may reach by it."""
    (found,) = [one for one in of_kind(case, "NetworkPolicy") if one["metadata"]["name"] == f"agentpods-{policy}"]
    (expression,) = found["spec"]["podSelector"]["matchExpressions"]
    return expression["values"], found["spec"]["egress"]


@pytest.mark.parametrize(
    ("case", "routes"),
    [
        ("usual", {ROUTES_AND_LISTENERS, CERTIFICATES}),
        ("ingress", {INGRESSES, INGRESS_CLASSES, CERTIFICATES}),
        ("no routing", set()),
        ("no certificates", {ROUTES}),
        ("hosting alone", {ROUTES_AND_LISTENERS, CERTIFICATES}),
    ],
)
def test_drive_may_do_what_the_driver_does_and_nothing_else(case: str, routes: set[Rule]) -> None:
    assert rights(case, "drive") == ALWAYS | {STATS} | routes


@pytest.mark.parametrize("case", sorted(CASES.keys() - {"hosting elsewhere"}))
def test_observe_may_look_and_nothing_else(case: str) -> None:
    assert rights(case, "observe") == OBSERVE


def test_only_statistics_through_the_api_need_the_nodes_proxy() -> None:
    assert rights("statistics through the API", "drive") - rights("usual", "drive") == {STATS_THROUGH_API}


def test_what_the_cluster_double_enforces_is_what_is_rendered() -> None:
    assert chart.rules("drive") == chart.role_rules(rendered()["usual"], "drive")
    assert chart.rules("observe") == chart.role_rules(rendered()["usual"], "observe")


@pytest.mark.parametrize("case", PLACES)
def test_a_check_of_a_cluster_asks_for_the_rights_that_the_chart_gives(case: str) -> None:
    through_api = case == "statistics through the API"
    place = Place(installation="agentpods", pod_image="", engine_images={}, routes=PLACES[case])
    wanted = checking.rights(place, through_api=through_api)
    asked = {(group, resource, verb) for group, resource, verbs in wanted for verb in verbs}
    given = {(group, one, verb) for group, many, verbs in rights(case, "drive") for one in many for verb in verbs}
    # Who may ask by way of the API server may go back to asking nodes themselves.
    assert given - asked == ({("", "nodes/stats", "get")} if through_api else set())
    assert asked - given == set()


@pytest.mark.parametrize("case", CASES)
def test_no_role_holds_a_wildcard_an_exec_or_a_list_of_secrets(case: str) -> None:
    for role in of_kind(case, "ClusterRole"):
        assert set(role) == {"apiVersion", "kind", "metadata", "rules"}
        for one in role["rules"]:
            assert "*" not in {*one["apiGroups"], *one["resources"], *one["verbs"]}
            assert not {"pods/exec", "pods/attach", "pods/portforward"} & set(one["resources"])
            assert not ("secrets" in one["resources"] and {"list", "watch", "delete"} & set(one["verbs"]))
            assert not {"impersonate", "bind", "escalate"} & set(one["verbs"])


def test_only_worker_and_observer_carry_a_token() -> None:
    accounts = {name: spec.get("serviceAccountName") for name, spec in pods("usual").items()}
    assert accounts == {
        "web": None,
        "worker": "agentpods-drive",
        "worker-webhooks": None,
        "beat": None,
        "observer": "agentpods-observe",
        "migrate": None,
    }
    for spec in pods("usual").values():
        assert spec["automountServiceAccountToken"] is ("serviceAccountName" in spec)


def test_each_account_has_its_own_role() -> None:
    bound = {one["roleRef"]["name"]: one["subjects"][0]["name"] for one in of_kind("usual", "ClusterRoleBinding")}
    assert bound == {"agentpods-drive": "agentpods-drive", "agentpods-observe": "agentpods-observe"}
    assert {one["metadata"]["name"] for one in of_kind("usual", "ServiceAccount")} == set(bound)


def test_where_no_pods_are_hosted_nobody_has_rights_or_a_token() -> None:
    kinds = {one["kind"] for one in rendered()["hosting elsewhere"]}
    assert not kinds & {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
    assert {spec["automountServiceAccountToken"] for spec in pods("hosting elsewhere").values()} == {False}


def test_a_cluster_that_only_hosts_has_one_account_with_both_roles_and_no_programs() -> None:
    case = "hosting alone"
    kinds = {one["kind"] for one in rendered()[case]}
    assert kinds == {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Secret"}
    bound = {one["roleRef"]["name"]: one["subjects"][0]["name"] for one in of_kind(case, "ClusterRoleBinding")}
    assert bound == {"agentpods-drive": "agentpods-remote", "agentpods-observe": "agentpods-remote"}
    (token,) = of_kind(case, "Secret")
    assert token["type"] == "kubernetes.io/service-account-token"


def test_nothing_comes_in_but_from_the_gateway_to_web() -> None:
    rules = [(one["metadata"]["name"], one["spec"].get("ingress")) for one in of_kind("usual", "NetworkPolicy")]
    (name, allowed) = next(one for one in rules if one[1])
    assert (name, sum(bool(one[1]) for one in rules)) == ("agentpods-visitors", 1)
    gateway = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "gateway"}}}
    assert allowed == [{"from": [gateway], "ports": [{"protocol": "TCP", "port": 8000}]}]


def test_without_a_policy_that_allows_it_nothing_goes_in_or_out() -> None:
    (deny,) = [one for one in of_kind("usual", "NetworkPolicy") if one["metadata"]["name"] == "agentpods-default-deny"]
    assert deny["spec"] == {
        "podSelector": {
            "matchLabels": {"app.kubernetes.io/name": "agentpods", "app.kubernetes.io/instance": "agentpods"}
        },
        "policyTypes": ["Ingress", "Egress"],
    }


def test_only_worker_and_observer_reach_clusters_and_only_the_worker_their_nodes() -> None:
    assert egress("usual", "clusters")[0] == ["worker", "observer"]
    assert egress("usual", "nodes") == (["worker"], [{"ports": [{"protocol": "TCP", "port": 10250}]}])


def test_nobody_reaches_nodes_where_they_are_asked_through_the_api() -> None:
    policies = {one["metadata"]["name"] for one in of_kind("statistics through the API", "NetworkPolicy")}
    assert {one["metadata"]["name"] for one in of_kind("usual", "NetworkPolicy")} - policies == {"agentpods-nodes"}


@pytest.mark.parametrize(("case", "ports"), [("usual", [8081]), ("no routing", [8080, 8081])])
def test_agents_pods_are_reached_at_their_management_and_where_they_have_no_route_at_their_page(
    case: str, ports: list[int]
) -> None:
    agents = {"namespaceSelector": {"matchLabels": {"app.kubernetes.io/managed-by": "agentpods"}}}
    rule = {"to": [agents], "ports": [{"protocol": "TCP", "port": port} for port in ports]}
    assert egress(case, "agents") == (["web", "worker", "observer"], [rule])


def test_other_clusters_pods_are_reached_where_their_addresses_are_given() -> None:
    _, (rule,) = egress("pods with private addresses elsewhere", "agents")
    assert {"ipBlock": {"cidr": "10.64.0.0/12"}} in rule["to"]


def test_the_internet_is_for_those_that_need_it_and_does_not_hold_what_is_private() -> None:
    components, (rule,) = egress("usual", "internet")
    assert components == ["web", "worker", "worker-webhooks"]
    blocks = {one["ipBlock"]["cidr"]: set(one["ipBlock"]["except"]) for one in rule["to"]}
    assert set(blocks) == {"0.0.0.0/0", "::/0"}
    assert blocks["0.0.0.0/0"] >= INTERNAL
    assert blocks["::/0"] >= {"fc00::/7", "fe80::/10", "::1/128"}


def test_whoever_takes_what_concerns_pods_is_who_has_the_account_for_it() -> None:
    takes = {
        name: command[command.index("-Q") + 1].split(",")
        for name, spec in pods("usual").items()
        if "-Q" in (command := spec["containers"][0].get("command") or [])
    }
    assert {queue for task, _, queue in BEAT.values() if task.startswith("agents.")} == {"lifecycle"}
    assert [name for name, queues in takes.items() if "lifecycle" in queues] == ["worker"]
