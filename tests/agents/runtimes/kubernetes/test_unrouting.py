"""If an agent no longer has a customer's hostname, the hostname leads nowhere in its cluster."""

from __future__ import annotations

import pytest

from agents.clusters.models import Cluster, Pod
from agents.runtimes.kubernetes.driver import KubernetesRuntime
from tests.agents.runtimes.conftest import NAMESPACE
from tests.agents.runtimes.kubernetes.test_driver import public_spec
from tests.deploy import chart
from tests.doubles.kube_api import KubeApi

ROUTES = ("HTTPRoute/domain", "ListenerSet/domain", "Certificate/domain")


def led_here(cluster: KubeApi) -> list[str]:
    """The objects that lead a customer's hostname to the pod."""
    return [key for key in ROUTES if cluster.get(key.partition("/")[0], "domain", NAMESPACE)]


def test_a_hostname_that_the_agent_no_longer_has_leads_nowhere(
    runtime: KubernetesRuntime, cluster: KubeApi, row: Cluster
) -> None:
    Cluster.objects.update(certificate_issuer="letsencrypt")
    runtime.deploy(public_spec(domain="agent.example.com"))
    assert led_here(cluster) == [*ROUTES]
    runtime.unroute(NAMESPACE, "other.example.com")
    assert led_here(cluster) == [*ROUTES], "the agent's next name is left alone"
    runtime.unroute(NAMESPACE, "agent.example.com")
    assert led_here(cluster) == []
    kept = Pod.objects.get(namespace=NAMESPACE).kept or {}
    assert not {*ROUTES} & kept.keys()
    assert "HTTPRoute/pod" in kept, "its own host stays"
    runtime.unroute(NAMESPACE, "agent.example.com")
    runtime.unroute("pod-none-1", "agent.example.com")


@pytest.mark.parametrize("routing", ["ingress", "none"])
def test_where_visitors_come_otherwise_a_name_is_taken_away_too(
    runtime: KubernetesRuntime, cluster: KubeApi, row: Cluster, routing: str
) -> None:
    cluster.install(chart.accounts(values={"hosting": {"routing": routing}}))
    Cluster.objects.update(certificate_issuer="letsencrypt", routing=routing)
    runtime.deploy(public_spec(domain="agent.example.com"))
    kinds = ("Ingress", "Certificate")
    assert [bool(cluster.get(kind, "domain", NAMESPACE)) for kind in kinds] == [routing == "ingress"] * 2
    runtime.unroute(NAMESPACE, "agent.example.com")
    assert not any(cluster.get(kind, "domain", NAMESPACE) for kind in kinds)
