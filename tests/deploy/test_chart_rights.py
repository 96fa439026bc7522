"""Permissions: the exact rights of the accounts, their tokens, and the connections that each program may make."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from agents.clusters import checking, protected
from agents.clusters.api import network
from agents.clusters.api.place import ClusterSettings, Routes, Routing
from config import public_networks
from config.celery import BEAT
from tests.deploy import chart
from tests.deploy.chart import ChartRefused, Object

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
    "own networks": {"networkPolicy": {"ownNetworks": ["9.9.0.0/16", "2a01:4f8:1::/48", "fd00:1::/32"]}},
    "backups": {
        "backups": {"store": "s3:https://s3.example.com/bucket"},
        "networkPolicy": {"backupStore": {"to": [{"ipBlock": {"cidr": "10.9.0.0/24"}}]}},
    },
    "hosting elsewhere": {"hosting": {"enabled": False}},
    "hosting alone": {"controlPlane": {"enabled": False}},
}

Rule = tuple[str, frozenset[str], frozenset[str]]


def rule(group: str, resources: str, verbs: str) -> Rule:
    return group, frozenset(resources.split()), frozenset(verbs.split())


MAKE, MAKE_AGAIN, ROUTE = "get create patch", "get create patch update", "get create patch update delete"
ALWAYS = {
    rule("", "namespaces", "get list create patch delete"),
    rule("", "persistentvolumes", "get list patch"),
    rule("", "nodes", "list"),
    rule("storage.k8s.io", "storageclasses", "list"),
    rule("rbac.authorization.k8s.io", "rolebindings", "get create patch"),
    rule("rbac.authorization.k8s.io", "clusterroles", "bind"),
}
INSIDE = {
    rule("", "persistentvolumeclaims", MAKE),
    rule("", "resourcequotas services", MAKE_AGAIN),
    # It names its owners; some API servers allow that only to an account that may delete the owners.
    rule("", "limitranges", ROUTE),
    rule("", "secrets", "create patch"),
    rule("", "pods", "list"),
    rule("apps", "deployments", MAKE_AGAIN),
    rule("networking.k8s.io", "networkpolicies", MAKE_AGAIN),
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
    rule("", "services resourcequotas limitranges persistentvolumes persistentvolumeclaims", "list watch"),
    rule("rbac.authorization.k8s.io", "rolebindings", "list watch"),
}
POLICIES = rule("networking.k8s.io", "networkpolicies", "list watch")
POLICIES_AND_INGRESSES = rule("networking.k8s.io", "networkpolicies ingresses", "list watch")
SEEN_ROUTES = rule("gateway.networking.k8s.io", "httproutes", "list watch")
SEEN_ROUTES_AND_LISTENERS = rule("gateway.networking.k8s.io", "httproutes listenersets", "list watch")
SEEN_CERTIFICATES = rule("cert-manager.io", "certificates", "list watch")
STATS = rule("", "nodes/stats", "get")
STATS_THROUGH_API = rule("", "nodes/stats nodes/proxy", "get")
# The same choices as in the admin's form of a cluster; `through_api` is its field `stats_through_api`.
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
    return {name: one for name, one in zip(CASES, answers, strict=True) if not isinstance(one, ChartRefused)}


def rights(case: str, account: str) -> set[Rule]:
    return {
        (group, frozenset(one["resources"]), frozenset(one["verbs"]))
        for one in chart.role_rules(rendered()[case], account)
        for group in one["apiGroups"]
    }


def of_kind(case: str, kind: str) -> list[Object]:
    return [one for one in rendered()[case] if one["kind"] == kind]


def pods(case: str) -> dict[str, Object]:
    """The specification of the pods of each program and of the job, by component."""
    workloads = [*of_kind(case, "Deployment"), *of_kind(case, "Job")]
    return {
        one["metadata"]["labels"]["app.kubernetes.io/component"]: one["spec"]["template"]["spec"] for one in workloads
    }


def egress(case: str, policy: str) -> tuple[list[str], list[Object]]:
    """The components to which a policy applies, and the connections that it allows."""
    (found,) = [one for one in of_kind(case, "NetworkPolicy") if one["metadata"]["name"] == f"agentpods-{policy}"]
    (expression,) = found["spec"]["podSelector"]["matchExpressions"]
    return expression["values"], found["spec"]["egress"]


@pytest.mark.parametrize(
    ("case", "routes"),
    [
        ("usual", {ROUTES_AND_LISTENERS, CERTIFICATES}),
        ("ingress", {INGRESSES, CERTIFICATES}),
        ("no routing", set()),
        ("no certificates", {ROUTES}),
        ("hosting alone", {ROUTES_AND_LISTENERS, CERTIFICATES}),
    ],
)
def test_drive_may_do_what_the_driver_does_and_nothing_else(case: str, routes: set[Rule]) -> None:
    assert rights(case, "drive") == ALWAYS | {STATS} | ({INGRESS_CLASSES} if case == "ingress" else set())
    assert rights(case, "agent") == INSIDE | routes


def test_drive_gives_nobody_any_role_but_that_of_agents_namespaces() -> None:
    (bind,) = [one for one in chart.role_rules(rendered()["usual"], "drive") if one["verbs"] == ["bind"]]
    assert bind["resourceNames"] == ["agentpods-system-agentpods-agent"]
    bound = {one["roleRef"]["name"] for one in of_kind("usual", "ClusterRoleBinding")}
    assert "agentpods-system-agentpods-agent" not in bound, "nowhere but where the account gives it to itself"


@pytest.mark.parametrize(
    ("case", "routes"),
    [
        ("usual", {POLICIES, SEEN_ROUTES_AND_LISTENERS, SEEN_CERTIFICATES}),
        ("ingress", {POLICIES_AND_INGRESSES, SEEN_CERTIFICATES}),
        ("no routing", {POLICIES}),
        ("no certificates", {POLICIES, SEEN_ROUTES}),
        ("hosting alone", {POLICIES, SEEN_ROUTES_AND_LISTENERS, SEEN_CERTIFICATES}),
    ],
)
def test_observe_may_look_and_nothing_else(case: str, routes: set[Rule]) -> None:
    assert rights(case, "observe") == OBSERVE | routes


@pytest.mark.parametrize("case", PLACES)
def test_observe_may_watch_all_that_is_guarded(case: str) -> None:
    watched = {kind.path for kind in protected.kinds(PLACES[case]).values()}
    allowed = {
        f"{'/apis/' + group if group else '/api'}/v1/{one}"
        for group, many, verbs in rights(case, "observe")
        for one in many
        if {"list", "watch"} <= verbs
    }
    assert watched <= allowed


def test_a_check_asks_where_the_api_server_is_as_the_chart_lets_it() -> None:
    (role,) = of_kind("usual", "Role")
    asked = {(group, resource, verb) for group, resource, verbs in checking.RIGHTS_TO_SERVERS for verb in verbs}
    given = {(one["apiGroups"][0], one["resources"][0], one["verbs"][0]) for one in role["rules"]}
    assert (role["metadata"]["namespace"], given) == ("default", asked)
    assert {tuple(one["resourceNames"]) for one in role["rules"]} == {("kubernetes",)}


def test_only_statistics_through_the_api_need_the_nodes_proxy() -> None:
    assert rights("statistics through the API", "drive") - rights("usual", "drive") == {STATS_THROUGH_API}


def test_what_the_cluster_double_enforces_is_what_is_rendered() -> None:
    assert chart.rules("drive") == chart.role_rules(rendered()["usual"], "drive")
    assert chart.rules("observe") == chart.role_rules(rendered()["usual"], "observe")


@pytest.mark.parametrize("case", PLACES)
def test_a_check_of_a_cluster_asks_for_the_rights_that_the_chart_gives(case: str) -> None:
    through_api = case == "statistics through the API"
    place = ClusterSettings(installation="agentpods", pod_image="", engine_images={}, routes=PLACES[case])
    for role, wanted in {
        "drive": [*checking.rights(place, through_api=through_api), checking._BIND, checking._BIND_ROLE],
        "agent": checking.rights_inside(place),
    }.items():
        asked = {(group, resource, verb) for group, resource, verbs in wanted for verb in verbs}
        given = {(group, one, verb) for group, many, verbs in rights(case, role) for one in many for verb in verbs}
        # With the right to ask through the API server, the account may still ask the nodes directly.
        assert given - asked == ({("", "nodes/stats", "get")} if through_api and role == "drive" else set())
        assert asked - given == set()


@pytest.mark.parametrize("case", CASES)
def test_no_role_holds_a_wildcard_an_exec_or_a_look_at_secrets(case: str) -> None:
    for role in [*of_kind(case, "ClusterRole"), *of_kind(case, "Role")]:
        assert set(role) == {"apiVersion", "kind", "metadata", "rules"}
        for one in role["rules"]:
            assert "*" not in {*one["apiGroups"], *one["resources"], *one["verbs"]}
            assert not {"pods/exec", "pods/attach", "pods/portforward"} & set(one["resources"])
            assert not ("secrets" in one["resources"] and {"get", "list", "watch", "delete"} & set(one["verbs"]))
            assert not {"impersonate", "escalate"} & set(one["verbs"])
            assert "bind" not in one["verbs"] or one["resourceNames"]


def test_a_server_without_admission_policies_is_refused_and_told_what_to_do_instead() -> None:
    refused = chart.on_a_server_without_policies()
    assert isinstance(refused, ChartRefused)
    for way_out in ("--runtime-config", "hosting.enabled=false", "hosting.admissionPolicies=false"):
        assert way_out in str(refused)
    without = chart.on_a_server_without_policies({"hosting": {"admissionPolicies": False}})
    assert isinstance(without, list)
    assert "ValidatingAdmissionPolicy" not in {one["kind"] for one in without}


def test_the_policy_holds_both_accounts_and_fails_closed() -> None:
    policy, _ = of_kind("usual", "ValidatingAdmissionPolicy")
    (condition,) = policy["spec"]["matchConditions"]
    for account in ("drive", "observe"):
        assert f"'{chart.username(account)}'" in condition["expression"]
    assert policy["spec"]["failurePolicy"] == "Fail"
    (rule,) = policy["spec"]["matchConstraints"]["resourceRules"]
    assert {tuple(some) for some in rule.values()} == {("*",), ("*/*",)}
    binding, _ = of_kind("usual", "ValidatingAdmissionPolicyBinding")
    assert binding["spec"] == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}


@pytest.mark.parametrize(("case", "account"), [("usual", "drive"), ("hosting alone", "remote")])
def test_secrets_of_agents_are_written_by_the_account_that_makes_them_alone(case: str, account: str) -> None:
    _, policy = of_kind(case, "ValidatingAdmissionPolicy")
    of_agents, by_another = policy["spec"]["matchConditions"]
    assert "agentpods.dev/installation" in of_agents["expression"]
    assert by_another["expression"] == f"request.userInfo.username != '{chart.username(account)}'"
    (rule,) = policy["spec"]["matchConstraints"]["resourceRules"]
    assert (rule["operations"], rule["resources"]) == (["UPDATE"], ["secrets"])
    _, binding = of_kind(case, "ValidatingAdmissionPolicyBinding")
    assert binding["spec"] == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}


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
    assert bound == {
        "agentpods-system-agentpods-drive": "agentpods-drive",
        "agentpods-system-agentpods-observe": "agentpods-observe",
    }
    assert {one["metadata"]["name"] for one in of_kind("usual", "ServiceAccount")} == set(bound.values())


def test_where_no_pods_are_hosted_nobody_has_rights_or_a_token() -> None:
    kinds = {one["kind"] for one in rendered()["hosting elsewhere"]}
    assert not kinds & {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
    assert {spec["automountServiceAccountToken"] for spec in pods("hosting elsewhere").values()} == {False}


def test_a_cluster_that_only_hosts_has_one_account_with_both_roles_and_no_programs() -> None:
    case = "hosting alone"
    kinds = {one["kind"] for one in rendered()[case]}
    assert kinds == {
        *("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Secret"),
        *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
    }
    bound = {one["roleRef"]["name"]: one["subjects"][0]["name"] for one in of_kind(case, "ClusterRoleBinding")}
    assert bound == {
        "agentpods-system-agentpods-drive": "agentpods-remote",
        "agentpods-system-agentpods-observe": "agentpods-remote",
    }
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
    """config/public_networks.py has the only list of networks that are not public, and writes the chart's copy."""
    components, (rule,) = egress("usual", "internet")
    assert components == ["web", "worker", "worker-webhooks"]
    blocks = {one["ipBlock"]["cidr"]: one["ipBlock"]["except"] for one in rule["to"]}
    assert blocks == public_networks.internet()


def test_the_clusters_own_networks_are_not_the_internet() -> None:
    _, (rule,) = egress("own networks", "internet")
    blocks = {one["ipBlock"]["cidr"]: set(one["ipBlock"]["except"]) for one in rule["to"]}
    usual = public_networks.internet()
    assert blocks["0.0.0.0/0"] - set(usual["0.0.0.0/0"]) == {"9.9.0.0/16"}
    assert blocks["2000::/3"] - set(usual["2000::/3"]) == {"2a01:4f8:1::/48"}


def test_whoever_takes_what_concerns_pods_is_who_has_the_account_for_it() -> None:
    takes = {
        name: command[command.index("-Q") + 1].split(",")
        for name, spec in pods("usual").items()
        if "-Q" in (command := spec["containers"][0].get("command") or [])
    }
    assert {queue for task, _, queue in BEAT.values() if task.startswith("agents.")} == {"lifecycle"}
    assert [name for name, queues in takes.items() if "lifecycle" in queues] == ["worker"]


def test_agents_pods_reach_the_endpoint_of_backups_and_nothing_else_of_ours() -> None:
    (policy,) = [one for one in of_kind("backups", "NetworkPolicy") if one["metadata"]["name"] == "agentpods-backups"]
    (rule,) = policy["spec"]["ingress"]
    assert rule["ports"] == [{"protocol": "TCP", "port": 8300}]
    assert rule["from"][0] == {"namespaceSelector": {"matchLabels": {"app.kubernetes.io/managed-by": "agentpods"}}}
    (_, store) = policy["spec"]["egress"]
    assert store == {"ports": [{"protocol": "TCP", "port": 443}], "to": [{"ipBlock": {"cidr": "10.9.0.0/24"}}]}
    assert egress("backups", "backup-store") == (["worker", "worker-webhooks"], [store])
    assert egress("backups", "backup-readers")[0] == ["web", "worker", "worker-webhooks"]

    (container,) = pods("backups")["backups"]["containers"]
    env = {entry["name"]: entry["value"] for entry in container["env"]}
    (service,) = [one for one in of_kind("backups", "Service") if one["metadata"]["name"] == "agentpods-backups"]
    assert service["spec"]["ports"][0]["port"] == int(env["BACKUP_PORT"])
    assert env["BACKUP_URL"] == f"http://agentpods-backups.{chart.NAMESPACE}.svc:8300"
    # By these labels a pod's own policy lets it out (agents/clusters/api/network.py).
    place = ClusterSettings(
        installation="x", pod_image="x", engine_images={}, backup_port=8300, routes=Routes(control_namespace="system")
    )
    (peer,) = network.policy("pod-a-1", "agt_a", place)["spec"]["egress"][-1]["to"]
    assert peer["podSelector"]["matchLabels"].items() <= service["spec"]["selector"].items()
    assert peer["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "system"}}


def test_without_a_store_there_is_no_endpoint_and_a_drill_has_a_disk_only_where_it_is_held() -> None:
    assert "backups" not in pods("usual")
    assert not [one for one in of_kind("usual", "NetworkPolicy") if "backup" in one["metadata"]["name"]]
    disks = {name for name, pod in pods("backups").items() if "drill" in [one["name"] for one in pod["volumes"]]}
    assert disks == {"worker", "worker-webhooks"}
