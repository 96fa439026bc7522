"""The log of hosts: each batch counts once, its rows are bounded, and old days go."""

from __future__ import annotations

import dataclasses
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from agents.clusters.models import POLICY, Cluster, Enforcement, Pod
from agents.egress import forgetting, visits
from agents.egress.models import Egress, EgressHost
from agents.models import Agent
from agents.runtimes.pod_egress import EgressBatch, VisitRow
from agents.tasks import forget_messages
from tests.agents.conftest import MakeAgent, settle

TODAY = datetime.now(UTC).date()


@pytest.fixture
def agent(make_agent: MakeAgent) -> Agent:
    made = settle(make_agent())
    Egress.objects.create(agent=made)
    return made


def row(host: str = "example.com:443", *, day: date = TODAY, **given: Any) -> VisitRow:
    usual: dict[str, Any] = {"is_refused": False, "count": 1, "sent": 10, "received": 100}
    return VisitRow(**{**usual, "day": day, "host": host, **given})


def batch(number: int, *rows: VisitRow, book: str = "a") -> EgressBatch:
    return EgressBatch(book=book, number=number, rows=list(rows))


def test_each_batch_is_added_once(agent: Agent) -> None:
    visits.add(agent, batch(1, row()))
    visits.add(agent, batch(1, row()))
    visits.add(agent, batch(2, row()))
    visits.add(agent, batch(1, row(), book="b"))
    found = EgressHost.objects.get(agent=agent)
    assert (found.count, found.sent, found.received) == (3, 30, 300)


@pytest.fixture
def pod(agent: Agent) -> Pod:
    """The agent's pod, with the policy that keeps its engine to the list, in a cluster that enforces policies."""
    cluster = Cluster.objects.create(name="first", network_policies=Enforcement.ENFORCED)
    digests = {POLICY: "1234"}
    return Pod.objects.create(
        namespace=agent.namespace, agent_id=agent.pk, cluster=cluster, kept=digests, seen=digests, limiting="1234"
    )


def is_enforced(client: APIClient, agent: Agent) -> bool:
    return bool(client.get(f"/agents/{agent.pk}/egress").json()["egress"]["enforced"])


def limited(client: APIClient, agent: Agent) -> None:
    client.put(f"/agents/{agent.pk}/egress", {"allowList": "on", "hosts": ["example.com"]}, format="json")


WALLED = EgressBatch(book="a", number=0, rows=[], is_walled=True)


def test_a_cluster_enforces_the_list_once_the_pod_has_told_of_its_wall(
    client: APIClient, agent: Agent, pod: Pod, settings: Settings
) -> None:
    limited(client, agent)
    settings.AGENT_RUNTIME = "kubernetes"
    assert not is_enforced(client, agent)
    visits.add(agent, WALLED)
    assert is_enforced(client, agent)
    settings.AGENT_RUNTIME = "local"  # has no network policy
    assert not is_enforced(client, agent)
    settings.AGENT_RUNTIME = "kubernetes"
    visits.add(agent, dataclasses.replace(WALLED, is_walled=False))
    assert not is_enforced(client, agent)


@pytest.mark.parametrize(
    "changed",
    [
        {"limiting": ""},  # the policy was applied before there was a list
        {"seen": None},  # nobody has looked
        {"seen": {}},  # somebody has removed it
        {"seen": {POLICY: "other"}},  # somebody has changed it, or it is not there yet
        {"namespace": "pod-of-before"},
    ],
)
def test_a_policy_that_was_not_applied_or_not_seen_enforces_nothing(
    client: APIClient, agent: Agent, pod: Pod, settings: Settings, changed: dict[str, Any]
) -> None:
    limited(client, agent)
    visits.add(agent, WALLED)
    settings.AGENT_RUNTIME = "kubernetes"
    Pod.objects.update(**changed)
    assert not is_enforced(client, agent)


@pytest.mark.parametrize("found", [Enforcement.UNKNOWN, Enforcement.IGNORED])
def test_a_network_that_may_ignore_policies_enforces_nothing(
    client: APIClient, agent: Agent, pod: Pod, settings: Settings, found: Enforcement
) -> None:
    limited(client, agent)
    visits.add(agent, WALLED)
    settings.AGENT_RUNTIME = "kubernetes"
    Cluster.objects.update(network_policies=found)
    assert not is_enforced(client, agent)


def test_an_agent_without_rules_has_no_log(agent: Agent) -> None:
    Egress.objects.all().delete()
    visits.add(agent, batch(1, row()))
    assert not EgressHost.objects.exists()


def test_a_day_has_an_end(agent: Agent) -> None:
    for number in range(4):
        visits.add(agent, batch(number + 1, *[row(f"h{number}-{one}.example.com:443") for one in range(200)]))
    assert EgressHost.objects.filter(agent=agent).count() == visits.MOST_ALLOWED + 1
    assert EgressHost.objects.get(agent=agent, host=visits.OTHERS).count == 800 - visits.MOST_ALLOWED
    visits.add(agent, batch(9, row("h0-0.example.com:443")))
    assert EgressHost.objects.get(agent=agent, host="h0-0.example.com:443").count == 2


def test_names_that_an_engine_makes_up_do_not_hide_where_it_was(agent: Agent) -> None:
    for number in range(4):
        made_up = [row(f"junk-{number}-{one}.example:443", is_refused=True) for one in range(200)]
        visits.add(agent, batch(2 * number + 1, *made_up))
        visits.add(agent, batch(2 * number + 2, row(f"reached-{number}.example:443")))
    rows = EgressHost.objects.filter(agent=agent)
    assert rows.filter(is_refused=False, host__startswith="reached").count() == 4
    assert rows.filter(is_refused=True).count() == visits.MOST_REFUSED + 1
    assert rows.get(host=visits.OTHERS).count == 800 - visits.MOST_REFUSED


def test_the_owner_reads_the_newest_day_first(client: APIClient, agent: Agent) -> None:
    visits.add(agent, batch(1, row(), row("evil.example:443", is_refused=True, count=5, sent=0, received=0)))
    visits.add(agent, batch(2, row("old.example:80", day=TODAY - timedelta(days=2))))
    log = client.get(f"/agents/{agent.pk}/egress/log").json()["log"]
    assert [(one["host"], one["refused"], one["count"]) for one in log["rows"]] == [
        ("evil.example:443", True, 5), ("example.com:443", False, 1), ("old.example:80", False, 1),
    ]  # fmt: skip
    assert (log["to"], log["hasMore"]) == (TODAY.isoformat(), False)
    one_day = client.get(f"/agents/{agent.pk}/egress/log", {"from": TODAY.isoformat()}).json()["log"]["rows"]
    assert len(one_day) == 2


@pytest.mark.parametrize("query", [{"from": "2026-12-02", "to": "2026-12-01"}, {"from": "2020-01-01"}, {"to": "soon"}])
def test_odd_days_are_refused(client: APIClient, agent: Agent, query: dict[str, str]) -> None:
    answer = client.get(f"/agents/{agent.pk}/egress/log", query)
    assert (answer.status_code, next(iter(query)) in answer.json()["message"]) == (400, True)


@pytest.mark.parametrize("last", ["0001-01-01", "0001-01-05", "9999-12-31"])
def test_days_at_the_ends_of_the_calendar_have_nothing(client: APIClient, agent: Agent, last: str) -> None:
    answer = client.get(f"/agents/{agent.pk}/egress/log", {"to": last})
    assert answer.status_code == 200
    assert f'"{last}"' in answer.content.decode()


def test_days_are_kept_for_a_month(agent: Agent) -> None:
    now = timezone.now()
    for days in (forgetting.KEPT.days, forgetting.KEPT.days + 1):
        EgressHost.objects.create(agent=agent, day=(now - timedelta(days=days)).date(), host="a.example:443", count=1)
    forget_messages()
    assert [one.day for one in EgressHost.objects.all()] == [(now - forgetting.KEPT).date()]
