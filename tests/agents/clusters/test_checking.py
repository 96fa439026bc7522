"""The check of a cluster: an operator learns of its problems before they harm agents."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import User
from agents.clusters import checking, connections, tasks
from agents.models import Cluster
from tests.agents.clusters.observing import make_cluster
from tests.agents.clusters.scripted import STORAGE, ScriptedCluster


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch, settings: Any) -> ScriptedCluster:
    """A scripted API server. Connections of all clusters lead to it."""
    settings.POD_IMAGE = "images.example.com/agentpods"
    found = ScriptedCluster()
    monkeypatch.setattr(connections, "of", lambda cluster: found)
    return found


def test_a_cluster_with_all_that_pods_need_has_no_findings(cluster: Cluster, api: ScriptedCluster) -> None:
    assert checking.check(cluster) == []
    cluster.refresh_from_db()
    assert cluster.network_policies == "enforced"
    assert cluster.checked_at is not None


@pytest.mark.parametrize(
    ("version", "finding"),
    [
        ({"major": "1", "minor": "30"}, "Its API server is 1.30; the oldest supported version is 1.31."),
        ({"major": "1", "minor": "31+"}, None),
        ({"major": "1", "minor": "37"}, None),
        ({"major": "1", "minor": "38"}, "Its API server is 1.38; the newest tested version is 1.37."),
        ({}, "Its API server is 0.0; the oldest supported version is 1.31."),
    ],
)
def test_the_version_must_be_one_that_was_tried(
    cluster: Cluster, api: ScriptedCluster, version: dict[str, str], finding: str | None
) -> None:
    api.documents["/version"] = version
    assert checking.check(cluster) == ([finding] if finding else [])


def test_rights_that_are_missing_are_named(cluster: Cluster, api: ScriptedCluster) -> None:
    api.forbidden = {("patch", "namespaces"), ("delete", "namespaces"), ("list", "nodes"), ("patch", "deployments")}
    assert checking.check(cluster) == [
        "Our account may not patch, delete namespaces.",
        "Our account may not list nodes.",
        "Our account may not patch deployments.apps.",
    ]


CHARTS = "system:serviceaccount:agents:pods-remote"


def test_the_charts_account_must_be_able_to_give_itself_its_rights(cluster: Cluster, api: ScriptedCluster) -> None:
    api.account = CHARTS
    api.forbidden = {("patch", "deployments")}  # the account has this right only where it gives the right to itself
    assert checking.check(cluster) == []
    (binding,) = [one for one in api.applied if one["kind"] == "RoleBinding"]
    assert binding["roleRef"]["name"] == "agents-pods-agent"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "pods-remote", "namespace": "agents"}]
    api.forbidden = {("create", "rolebindings"), ("bind", "clusterroles")}
    assert checking.check(cluster) == [
        "Our account may not create rolebindings.rbac.authorization.k8s.io.",
        "Our account may not bind clusterroles.rbac.authorization.k8s.io agents-pods-agent.",
    ]


def test_an_account_that_nothing_holds_to_agents_namespaces_is_told_of(cluster: Cluster, api: ScriptedCluster) -> None:
    api.account, api.is_bounded = CHARTS, False
    (finding,) = checking.check(cluster)
    assert finding.startswith("Nothing limits our account to agents' namespaces")


@pytest.mark.parametrize(("through_api", "needed"), [(False, "nodes/stats"), (True, "nodes/proxy")])
def test_statistics_need_the_right_by_which_they_are_asked_for(
    cluster: Cluster, api: ScriptedCluster, through_api: bool, needed: str
) -> None:
    cluster.stats_through_api = through_api
    api.forbidden = {("get", "nodes/stats"), ("get", "nodes/proxy")}
    assert checking.check(cluster) == [f"Our account may not get {needed}."]


def test_routes_of_the_gateway_api_must_be_served(api: ScriptedCluster, db: None) -> None:
    cluster = make_cluster("one", routing="gateway", gateway="infra/pods")
    assert checking.check(cluster) == []
    del api.documents["/apis/gateway.networking.k8s.io/v1"], api.documents["/apis/cert-manager.io/v1"]
    what = "install them, or choose other routing."
    assert checking.check(cluster) == [f"It does not serve httproutes of gateway.networking.k8s.io/v1: {what}"]
    cluster.certificate_issuer = "letters"
    assert checking.check(cluster) == [
        f"It does not serve httproutes of gateway.networking.k8s.io/v1: {what}",
        f"It does not serve listenersets of gateway.networking.k8s.io/v1: {what}",
        f"It does not serve certificates of cert-manager.io/v1: {what}",
    ]


@pytest.mark.parametrize(
    ("ingress_class", "finding"),
    [
        ("nginx", None),
        ("traefik", "It has no ingress class traefik."),
        ("", "It has no default ingress class: name one."),
    ],
)
def test_the_ingress_class_must_be_there(
    api: ScriptedCluster, db: None, ingress_class: str, finding: str | None
) -> None:
    cluster = make_cluster("one", routing="ingress", ingress_class=ingress_class)
    assert checking.check(cluster) == ([finding] if finding else [])


def test_there_must_be_storage(cluster: Cluster, api: ScriptedCluster) -> None:
    cluster.storage_class = "fast"
    assert checking.check(cluster) == ["It has no storage class fast."]
    cluster.storage_class = ""
    api.documents[STORAGE] = {"items": []}
    assert checking.check(cluster) == ["It has no default storage class: name one."]


def test_what_may_not_be_looked_at_is_said(api: ScriptedCluster, db: None) -> None:
    api.forbidden = {("list", "storageclasses"), ("list", "ingressclasses")}
    assert checking.check(make_cluster("one", routing="ingress")) == [
        "Our account may not list storageclasses.storage.k8s.io.",
        "Our account may not list ingressclasses.networking.k8s.io.",
    ]


def test_a_network_that_ignores_policies_is_told_of(cluster: Cluster, api: ScriptedCluster) -> None:
    api.enforces = False
    (finding,) = checking.check(cluster)
    assert finding.startswith("Its network does not enforce network policies")
    cluster.refresh_from_db()
    assert cluster.network_policies == "ignored"


def test_a_network_that_could_not_be_tried_is_unknown(cluster: Cluster, api: ScriptedCluster) -> None:
    Cluster.objects.update(network_policies="enforced")
    api.connects = False
    (finding,) = checking.check(cluster)
    assert finding.endswith("enforces network policies: two pods cannot reach each other even without a policy")
    cluster.refresh_from_db()
    assert cluster.network_policies == "unknown"


def test_of_a_cluster_that_is_not_reached_nothing_is_written_down(cluster: Cluster, api: ScriptedCluster) -> None:
    api.away = True
    assert checking.check(cluster) == ["cluster one: it was not answered"]
    cluster.refresh_from_db()
    assert (cluster.checked_at, cluster.network_policies, cluster.findings) == (None, "unknown", [])


def test_what_was_found_is_kept_until_the_next_check(cluster: Cluster, api: ScriptedCluster) -> None:
    api.enforces = False
    api.documents[STORAGE] = {"items": []}
    findings = checking.check(cluster)
    cluster.refresh_from_db()
    assert cluster.findings == findings
    assert len(findings) == 2
    vars(api).update(vars(ScriptedCluster()))  # the cluster has no problems any more
    assert checking.check(cluster) == []
    cluster.refresh_from_db()
    assert cluster.findings == []


def test_a_kubeconfig_whose_key_is_lost_is_said(cluster: Cluster, settings: Any) -> None:
    Cluster.objects.update(kubeconfig="a: b")
    settings.SECRETS_KEYS = [Fernet.generate_key().decode()]
    (finding,) = checking.check(Cluster.objects.get())
    assert finding.startswith("cluster one: kubeconfig: cannot be decrypted any more")


# When a cluster is checked, and who gets the result.


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr("config.background.on_commit", lambda task, *ids: found.append(f"{task} {' '.join(ids)}"))
    return found


def test_a_cluster_is_checked_once_a_day_and_sooner_when_its_network_is_unknown(db: None, asked: list[str]) -> None:
    now = timezone.now()
    make_cluster("silent", observed_at=None)
    fresh = make_cluster("fresh")
    make_cluster("known", checked_at=now - timedelta(hours=23), network_policies="ignored")
    old = make_cluster("old", checked_at=now - timedelta(hours=25), network_policies="enforced")
    unknown = make_cluster("unknown", checked_at=now - timedelta(hours=2))
    assert [checking.due(now) for _ in range(4)] == [1, 1, 1, 0]
    assert asked == [f"agents.check_cluster {row.pk}" for row in (fresh, old, unknown)]


def test_what_an_operator_asked_for_is_in_the_clusters_history(cluster: Cluster, api: ScriptedCluster) -> None:
    operator = User.objects.create_superuser("operator@example.com", "a-long-password")
    tasks.check_cluster(str(cluster.pk), operator.pk)
    assert LogEntry.objects.get().get_change_message() == "Checked: no problems."
    api.documents[STORAGE] = {"items": []}
    tasks.check_cluster(str(cluster.pk), operator.pk)
    told = LogEntry.objects.order_by("pk").last()
    assert told is not None
    assert (told.user, told.object_id) == (operator, str(cluster.pk))
    assert told.get_change_message() == "Checked: It has no default storage class: name one."


def test_a_check_that_nobody_asked_for_is_logged(
    cluster: Cluster, api: ScriptedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    api.enforces = False
    tasks.check_cluster(str(cluster.pk))
    assert "does not enforce network policies" in caplog.text
    assert not LogEntry.objects.exists()
    tasks.check_cluster("0")


def test_the_command_says_what_was_found(
    cluster: Cluster, api: ScriptedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("check_cluster", "one")
    assert capsys.readouterr().out == "network policies: enforced\nno problems\n"
    api.enforces = False
    with pytest.raises(CommandError, match=r"^Its network does not enforce"):
        call_command("check_cluster", "one")
    with pytest.raises(CommandError, match=r"^no such cluster: two$"):
        call_command("check_cluster", "two")
