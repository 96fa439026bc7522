"""Clusters in the console: credentials are stored and never shown, and the history shows each action."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from agents.clusters import abandoning
from agents.models import Agent, Cluster, Placement, Pod
from tests import operating
from tests.agents.clusters.observing import make_cluster

LIST = "/admin/agents/cluster/"
KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://10.0.0.1:6443"}}]
users: [{name: u, user: {token: very-secret-token}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""
PULL_SECRET = '{"auths": {"images.example.com": {"auth": "aHVzaDpodXNo"}}}'
FORM = {
    "name": "one",
    "capacity": "100",
    "routing": "none",
    "pull_policy": "IfNotPresent",
    "tier_runtime_classes": "{}",
    "node_selector": "{}",
    "tolerations": "[]",
    "pod_annotations": "{}",
    "dns_peers": "[]",
    "dns_port": "53",
    "initial-tier_runtime_classes": "{}",
    "initial-node_selector": "{}",
    "initial-tolerations": "[]",
    "initial-pod_annotations": "{}",
    "initial-dns_peers": "[]",
}


@pytest.fixture
def operator(db: None) -> User:
    return User.objects.create_superuser("operator@example.com", "a-long-password")


@pytest.fixture
def console(operator: User) -> Client:
    return signed_in(operator)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    monkeypatch.setattr("config.background.on_commit", lambda task, *ids: found.append((task, *ids)))
    return found


def page_of(cluster: Cluster) -> str:
    return f"{LIST}{cluster.pk}/change/"


def act(console: Client, action: str, *clusters: Cluster, **typed: str) -> str:
    return operating.act(console, LIST, f"{action}_clusters", *clusters, **typed)


def save(console: Client, cluster: Cluster | None = None, /, **given: str) -> str:
    """Send the form; returns the page that follows."""
    path = page_of(cluster) if cluster else f"{LIST}add/"
    return console.post(path, {**FORM, **given}, follow=True).content.decode()


def history() -> list[str]:
    return [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")]


# The form.


def test_credentials_are_kept_sealed_and_never_shown(console: Client) -> None:
    save(console, kubeconfig=KUBECONFIG, pull_secret=PULL_SECRET)
    cluster = Cluster.objects.get()
    assert "very-secret-token" in str(cluster.kubeconfig)
    page = console.get(page_of(cluster)).content.decode()
    assert page.count("(set)") == 2
    for secret in ("very-secret-token", "aHVzaDpodXNo", "10.0.0.1"):
        assert secret not in page


def test_a_mistake_elsewhere_does_not_show_them_either(console: Client) -> None:
    page = save(console, kubeconfig=KUBECONFIG, pull_secret="aHVzaDpodXNo", capacity="many")
    assert "Enter a whole number" in page
    assert "Not JSON" in page
    assert "very-secret-token" not in page
    assert "aHVzaDpodXNo" not in page
    assert not Cluster.objects.exists()


def test_credentials_stay_until_others_are_given_or_they_are_cleared(console: Client) -> None:
    save(console, kubeconfig=KUBECONFIG)
    cluster = Cluster.objects.get()
    save(console, cluster, region="north")
    cluster.refresh_from_db()
    assert "very-secret-token" in str(cluster.kubeconfig)
    save(console, cluster, region="north", kubeconfig=KUBECONFIG.replace("very-secret", "another"))
    cluster.refresh_from_db()
    assert "another-token" in str(cluster.kubeconfig)
    assert "Enter a new one or clear it, not both." in save(
        console, cluster, kubeconfig=KUBECONFIG, clear_kubeconfig="on"
    )
    save(console, cluster, region="north", clear_kubeconfig="on")
    cluster.refresh_from_db()
    assert cluster.kubeconfig is None
    assert history() == ["Added.", "Changed Region.", "Changed kubeconfig.", "Changed Clear kubeconfig."]


def test_credentials_whose_key_is_lost_are_given_anew(console: Client, settings: Any) -> None:
    save(console, kubeconfig=KUBECONFIG)
    cluster = Cluster.objects.get()
    settings.SECRETS_KEYS = [Fernet.generate_key().decode()]
    assert cluster.name in console.get(LIST).content.decode()
    assert "It cannot be decrypted any more" in save(console, Cluster.objects.get(), region="north")
    save(console, Cluster.objects.get(), kubeconfig=KUBECONFIG)
    assert "very-secret-token" in str(Cluster.objects.get().kubeconfig)


def test_a_clusters_own_networks_are_asked_for(console: Client) -> None:
    assert "Pods cannot connect to them" in console.get(f"{LIST}add/").content.decode()
    save(console, own_cidrs="198.51.100.0/24, 2a01:4f8::/32")
    assert Cluster.objects.get().own_cidrs == ["198.51.100.0/24", "2a01:4f8::/32"]


def test_a_kubeconfig_from_before_the_rule_is_told_when_its_cluster_is_saved(console: Client) -> None:
    save(console, kubeconfig=KUBECONFIG)
    old = KUBECONFIG.replace("token: very-secret-token", "tokenFile: /run/token")
    Cluster.objects.update(kubeconfig=old)
    assert "not the path of a file" in save(console, Cluster.objects.get(), region="north")
    save(console, Cluster.objects.get(), region="north", kubeconfig=KUBECONFIG)
    assert Cluster.objects.get().region == "north"


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"kubeconfig": KUBECONFIG.replace("token: very", "exec: very")}, "not a program that fetches one"),
        (
            {"kubeconfig": KUBECONFIG.replace("token: very-secret-token", "tokenFile: /etc/passwd")},
            "not the path of a file",
        ),
        ({"kubeconfig": KUBECONFIG.replace("server:", "proxy-url: http://x, server:")}, "proxies"),
        ({"kubeconfig": "[" * 60_000}, "Nested too deeply."),
        ({"pull_secret": "[" * 60_000}, "Not JSON."),
        ({"kubeconfig": "- nothing"}, "Needs clusters, users and contexts."),
        ({"routing": "gateway"}, "Needed with routing by Gateway API."),
        ({"control_cidrs": "10.0.0.0/8, elsewhere"}, "Networks, separated by commas"),
        ({"router_ports": "443, 70000"}, "Item 2 in the array did not validate"),
        ({"priority_class": "system-node-critical"}, "A priority class of your own"),
        ({"pod_annotations": '{"a": 1}'}, "An object of text values."),
        ({"dns_peers": '[{"host": "dns"}]'}, "A list of peers"),
        ({"visitors_authority": "no certificate"}, "Certificates as PEM."),
        ({"own_cidrs": "203.0.113.7/24"}, "Networks, separated by commas"),
        ({"own_cidrs": "0.0.0.0/0"}, "A network must not be larger than a /8."),
        ({"own_cidrs": "9.0.0.0/8, 2000::/3"}, "A network must not be larger than a /8."),
        ({"node_selector": "[1]"}, "An object of text values."),
        ({"tier_runtime_classes": '{"huge": "kata"}'}, "An object of plans (tiny, small, medium, large)"),
        ({"tier_runtime_classes": '{"tiny": null}'}, "An object of plans (tiny, small, medium, large)"),
        ({"tolerations": "["}, "Enter a valid JSON"),
        ({"name": "Not A Name"}, "Lower-case letters, digits and dashes."),
    ],
)
def test_what_cannot_be_is_refused_on_the_form(console: Client, given: dict[str, str], problem: str) -> None:
    assert problem in save(console, None, **given)
    assert not Cluster.objects.exists()


def test_a_form_leaves_alone_what_the_observer_writes(console: Client) -> None:
    cluster = make_cluster("one", observed_at=None)
    page = console.get(page_of(cluster)).content.decode()
    assert 'name="observed_at' not in page
    assert 'name="network_policies"' not in page
    now = timezone.now()
    real_save = Cluster.save

    def observed_meanwhile(row: Cluster, **given: Any) -> None:
        Cluster.objects.update(observed_at=now, observer="node-1")
        real_save(row, **given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cluster, "save", observed_meanwhile)
        save(console, cluster, control_cidrs="10.0.0.0/8, 2001:db8::/32")
    cluster.refresh_from_db()
    assert (cluster.observed_at, cluster.observer) == (now, "node-1")
    assert cluster.control_cidrs == ["10.0.0.0/8", "2001:db8::/32"]


def test_a_clusters_page_says_what_its_last_check_found(console: Client) -> None:
    cluster = make_cluster("one", findings=["It has no storage class fast.", "It has <no> gateway."])
    page = console.get(page_of(cluster)).content.decode()
    assert "It has no storage class fast.<br>It has &lt;no&gt; gateway." in page
    assert 'name="findings"' not in page


# The list.


@pytest.mark.parametrize("count", [1, 4])
def test_the_list_says_how_each_is_and_costs_the_same_for_any_number(
    console: Client, count: int, django_assert_max_num_queries: Any
) -> None:
    for number in range(count):
        cluster = make_cluster(f"c{number}", capacity=7, observed_at=timezone.now() - timedelta(seconds=30))
        Placement.objects.create(agent_id=f"agt_{number}", cluster=cluster)
    Cluster.objects.update(network_policies="ignored")
    with django_assert_max_num_queries(7):
        page = console.get(LIST).content.decode()
    assert page.count("1 of 7") == count
    assert page.count("IGNORED: pods can connect to each other") == count
    assert "30 s ago" in page or "31 s ago" in page
    assert "never" in page


# Actions.


def test_cordon_and_uncordon_are_in_the_history(console: Client, cluster: Cluster) -> None:
    assert "Cluster one: cordoned" in act(console, "cordon", cluster)
    act(console, "cordon", cluster)
    assert Cluster.objects.get().cordoned
    act(console, "uncordon", cluster)
    assert not Cluster.objects.get().cordoned
    assert history() == ["Cordoned.", "Uncordoned."]


def test_a_clusters_page_has_its_actions_as_buttons_and_leads_back(console: Client, cluster: Cluster) -> None:
    at = reverse("admin:agents_cluster_change", args=[quote(cluster.pk)])
    page = console.get(at).content.decode()
    for action in ("cordon_clusters", "empty_clusters", "check_clusters"):
        assert f'name="action" value="{action}"' in page
    sent = {"action": "cordon_clusters", "_selected_action": cluster.pk, "page": at}
    assert console.post(LIST, sent).headers["Location"] == at
    assert 'value="uncordon_clusters"' in console.get(at).content.decode()
    elsewhere = console.post(LIST, {**sent, "page": "https://elsewhere.example/"})
    assert elsewhere.headers["Location"] == LIST
    assert 'name="action"' not in operating.staff("view_cluster").get(at).content.decode()


def test_a_check_is_a_workers(console: Client, operator: User, cluster: Cluster, asked: list[tuple[str, ...]]) -> None:
    assert "its history shows the result" in act(console, "check", cluster)
    assert asked == [("agents.check_cluster", str(cluster.pk), operator.pk)]
    assert history() == ["Check requested."]


def test_a_lost_cluster_is_given_up_on_a_page_that_asks_for_its_name(
    console: Client, operator: User, db: None, asked: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(abandoning, "BATCH", 1)
    cluster = make_cluster("one", observed_at=None)
    for agent_id in ("agt_1", "agt_2"):
        Placement.objects.create(agent_id=agent_id, cluster=cluster)
    asking = operating.choose(console, LIST, "lose_clusters", cluster)
    for told in ('<td dir="auto">never</td>', "2 agents are moved away from one", 'name="reason"'):
        assert told in asking.content.decode()
    assert "The name is one." in operating.send(console, asking, name="two").content.decode()
    assert "This field is required" in operating.send(console, asking, name="one", reason="").content.decode()
    assert Placement.objects.count() == 2
    done = operating.send(console, asking, name="one", reason="the hall burnt down")
    assert "1 agents are still on one" in done.content.decode()
    cluster.refresh_from_db()
    assert cluster.cordoned
    assert history() == ["Given up as lost for good: the hall burnt down"]
    assert asked == [("agents.lose_cluster", str(cluster.pk), f"operator:{operator.pk}")]


def test_a_cluster_that_lives_is_not_given_up(console: Client, cluster: Cluster) -> None:
    asking = operating.choose(console, LIST, "lose_clusters", cluster)
    for _ in range(2):  # a refused page may be sent again
        assert "was last seen" in operating.send(console, asking, name="one").content.decode()
    assert history() == []
    nowhere = console.get(f"{LIST}lose-clusters/", {"id": ["0", "x"]}, follow=True)
    assert "nothing left to do" in nowhere.content.decode()


def test_one_cluster_is_given_up_at_a_time(console: Client, cluster: Cluster) -> None:
    assert "This works for one row at a time" in act(console, "lose", cluster, make_cluster("two"))


def test_who_may_only_look_changes_nothing(cluster: Cluster) -> None:
    viewer = User.objects.create_user("viewer@example.com", is_staff=True)
    viewer.user_permissions.set(Permission.objects.filter(codename__in=["view_cluster", "view_placement", "view_pod"]))
    console = signed_in(viewer)
    act(console, "cordon", cluster)
    for step in ("lose-clusters", "delete-rows"):
        assert console.get(f"{LIST}{step}/", {"id": cluster.pk}).status_code == 403
    assert "(set)" not in console.get(page_of(cluster)).content.decode()
    cluster.refresh_from_db()
    assert not cluster.cordoned


def test_a_cluster_with_agents_is_not_deleted_and_one_without_is(console: Client, cluster: Cluster) -> None:
    Placement.objects.create(agent_id="agt_1", cluster=cluster)
    asking = console.post(f"{LIST}{cluster.pk}/delete/", {"post": "yes"}, follow=True)
    kept = operating.send(console, asking, reason="sold")
    assert "One: not deleted: 1 of 100 agents" in kept.content.decode()
    assert "delete_selected" not in console.get(LIST).content.decode()
    Placement.objects.all().delete()
    assert "agents was 1 of 100, is 0 of 100" in operating.send(console, asking, reason="sold").content.decode()
    assert "Deleted: one" in operating.act(console, LIST, "delete_rows", cluster, reason="sold")
    assert not Cluster.objects.exists()
    assert history() == ["Deleted: sold"]


# Placements and pods.


def test_an_agents_page_says_where_it_is(console: Client, cluster: Cluster, running: Agent) -> None:
    page = f"/admin/agents/agent/{running.pk}/change/".replace("_", "_5F")
    assert "Cluster:</label>" in console.get(page).content.decode()
    Placement.objects.create(agent_id=running.pk, cluster=cluster)
    assert '<div class="readonly">one</div>' in console.get(page).content.decode()


@pytest.mark.parametrize("count", [1, 4])
def test_placements_and_pods_are_found_and_not_touched(
    console: Client, cluster: Cluster, count: int, django_assert_max_num_queries: Any
) -> None:
    for number in range(count):
        Placement.objects.create(agent_id=f"agt_{number}", cluster=cluster)
        Pod.objects.create(namespace=f"pod-x{number}-1", agent_id=f"agt_{number}", cluster=cluster, phase="ready")
    for path, shown in (("/admin/agents/placement/", "agt_0"), ("/admin/agents/pod/", "pod-x0-1")):
        with django_assert_max_num_queries(8):
            assert shown in console.get(path).content.decode()
        assert shown in console.get(path, {"q": "agt_0"}).content.decode()
        assert shown not in console.get(path, {"q": "nobody"}).content.decode()
        assert console.get(f"{path}add/").status_code == 403
    assert "pod-x0-1" not in console.get("/admin/agents/pod/", {"phase__exact": "failed"}).content.decode()
    page = console.get("/admin/agents/pod/pod-x0-1/change/").content.decode()
    assert 'name="phase"' not in page
    assert console.post("/admin/agents/pod/pod-x0-1/delete/").status_code == 403


def test_agents_are_let_to_no_port_on_which_a_controller_takes_orders(db: None) -> None:
    """8443 is ingress-nginx's admission webhook, 8080 may be Traefik's dashboard: a hostile engine would call both."""
    assert not {8080, 8443} & set(Cluster(name="one").router_ports)
