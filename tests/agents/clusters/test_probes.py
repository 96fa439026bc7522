"""Which gateways and events an observer asks for, because no watch reports them, and how often."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from agents.clusters import probes
from agents.clusters.api.client import ClusterFailure
from agents.clusters.models import Cluster, Pod
from agents.clusters.probes import CallPool, Probes, ProbeSchedule, Want
from agents.models import Agent, Desired
from agents.pod.turns.failures import Hop, HopFailure
from agents.running import pods
from agents.runtimes import management
from agents.runtimes.base import Access, Endpoint
from agents.runtimes.management import GatewayHealth
from tests.agents.clusters.observing import Json, event
from tests.agents.conftest import MakeAgent

LIFE = ("127.8.0.1", 0)
ACCESS = Access(token="secret-token", certificate="certificate")
WANT = Want(revision=2, access=ACCESS)
GOOD = GatewayHealth(revision=2, has_key=True, engine={"phase": "ready", "revision": 2})


class ProbeClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class AtOnce(CallPool):
    """Runs each question in the caller's own thread."""

    def __init__(self) -> None:
        pass

    def submit(self, work: Callable[[], None]) -> None:
        work()


class Gateways:
    """The answer that all gateways give, and a list of the gateways that were asked."""

    def __init__(self) -> None:
        self.answer: GatewayHealth | Exception = GOOD
        self.asked: list[tuple[str, Access]] = []

    def health(self, endpoint: Endpoint, access: Access, *, seconds: float) -> GatewayHealth:
        self.asked.append((endpoint.management_url, access))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Events:
    def __init__(self) -> None:
        self.items: list[Json] = []
        self.asked: list[str] = []
        self.failure: Exception | None = None

    def get(self, path: str, query: Any = None, *, seconds: float = 10.0) -> Json:
        self.asked.append(path)
        if self.failure:
            raise self.failure
        return {"items": list(self.items)}

    def lines(self, path: str, query: Any = None, *, seconds: float) -> Any:
        raise AssertionError("nothing is watched here")


@pytest.fixture
def clock() -> ProbeClock:
    return ProbeClock()


@pytest.fixture
def gateways(monkeypatch: pytest.MonkeyPatch) -> Gateways:
    found = Gateways()
    monkeypatch.setattr(management, "health", found.health)
    return found


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
def news() -> list[str]:
    return []


@pytest.fixture
def asks(clock: ProbeClock, gateways: Gateways, events: Events, news: list[str]) -> Probes:
    return Probes(AtOnce(), events, news.append, clock=clock)


def test_a_gateway_is_asked_at_its_pods_address_and_its_answer_is_news(
    asks: Probes, gateways: Gateways, news: list[str]
) -> None:
    asks.ask_gateways({"pod-a-1": (LIFE, WANT)})
    assert gateways.asked == [("https://127.8.0.1:8081", ACCESS)]
    assert asks.health("pod-a-1", LIFE) == GOOD
    assert news == ["pod-a-1"]


def test_an_address_of_the_newer_kind_is_written_as_urls_want_it() -> None:
    assert probes.endpoint("fd00::1").management_url == "https://[fd00::1]:8081"


def test_a_gateway_is_asked_at_most_once_a_second_and_the_same_again_is_no_news(
    asks: Probes, gateways: Gateways, clock: ProbeClock, news: list[str]
) -> None:
    for _ in range(10):
        asks.ask_gateways({"pod-a-1": (LIFE, WANT)})
        clock.now += 0.5
    assert len(gateways.asked) == 5
    assert news == ["pod-a-1"]


def test_one_that_says_the_same_for_long_is_asked_less_often(
    asks: Probes, gateways: Gateways, clock: ProbeClock
) -> None:
    for _ in range(100):
        asks.ask_gateways({"pod-a-1": (LIFE, WANT)})
        clock.now += 1
    assert 40 <= len(gateways.asked) <= 50


def test_one_that_does_not_answer_is_asked_less_and_less(asks: Probes, gateways: Gateways, clock: ProbeClock) -> None:
    gateways.answer = HopFailure(Hop.GATEWAY, "silent")
    for _ in range(60):
        asks.ask_gateways({"pod-a-1": (LIFE, WANT)})
        clock.now += 1
    assert len(gateways.asked) == 7  # the pauses are 2, 4, 8, 15, 15, 15 s


def test_a_new_revision_is_asked_for_at_once(asks: Probes, gateways: Gateways) -> None:
    gateways.answer = HopFailure(Hop.GATEWAY, "silent")
    asks.ask_gateways({"pod-a-1": (LIFE, WANT)})
    asks.ask_gateways({"pod-a-1": (LIFE, Want(revision=3, access=ACCESS))})
    assert len(gateways.asked) == 2


def test_what_a_gateway_said_counts_while_it_answers_and_in_that_life_of_the_pod(
    asks: Probes, gateways: Gateways, clock: ProbeClock, news: list[str]
) -> None:
    asks.ask_gateways({"pod-a-1": (LIFE, WANT)})
    assert asks.health("pod-a-1", ("127.8.0.1", 1)) is None
    gateways.answer = ValueError("an answer of another world")
    clock.now += 1
    asks.ask_gateways({"pod-a-1": (LIFE, WANT)})
    assert asks.health("pod-a-1", LIFE) is None
    assert news == ["pod-a-1", "pod-a-1"]


def test_what_a_gateway_said_is_forgotten_with_the_question(asks: Probes) -> None:
    asks.ask_gateways({"pod-a-1": (LIFE, WANT)})
    asks.ask_gateways({})
    assert asks.health("pod-a-1", LIFE) is None


def test_events_are_read_at_most_once_in_ten_seconds(
    asks: Probes, events: Events, clock: ProbeClock, news: list[str]
) -> None:
    events.items = [event("FailedMount", "no such volume")]
    for _ in range(21):
        asks.ask_events({"pod-a-1"})
        clock.now += 1
    assert events.asked == ["/api/v1/namespaces/pod-a-1/events"] * 3
    assert asks.events("pod-a-1")[0]["message"] == "no such volume"
    assert news == ["pod-a-1"]
    asks.ask_events(set())
    assert asks.events("pod-a-1") == []


def test_events_that_are_not_told_are_asked_for_later(asks: Probes, events: Events, clock: ProbeClock) -> None:
    events.failure = ClusterFailure("one", "not reached")
    asks.ask_events({"pod-a-1"})
    events.failure = None
    clock.now += 10
    asks.ask_events({"pod-a-1"})
    assert len(events.asked) == 2


def test_one_that_is_being_asked_is_not_asked_twice(clock: ProbeClock) -> None:
    rounds = ProbeSchedule(clock)
    assert rounds.begin({"a": 1, "b": 1}) == ["a", "b"]
    clock.now += 100
    assert rounds.begin({"a": 2}) == []
    rounds.end("a")
    rounds.end("b")
    assert rounds.begin({"a": 2, "b": 1}) == ["a"]


def fail() -> None:
    raise ZeroDivisionError


def test_one_question_that_fails_ends_no_thread() -> None:
    pool, asked = CallPool(threads=1), threading.Event()
    pool.submit(fail)
    pool.submit(asked.set)
    assert asked.wait(5)
    pool.close()


# Which pods of agents are behind.


@pytest.fixture
def behind(cluster: Cluster, make_agent: MakeAgent) -> Agent:
    agent = make_agent()
    Pod.objects.create(namespace=agent.namespace, agent_id=agent.pk, cluster=cluster, gateway_alive=True)
    return agent


def pods_become(agent: Agent, **changes: Any) -> None:
    Pod.objects.filter(agent_id=agent.pk).update(**changes)


def test_pods_are_asked_until_they_are_ready_on_what_is_wanted(cluster: Cluster, behind: Agent) -> None:
    wanted = {behind.namespace: Want(revision=behind.spec_revision, access=pods.access_of(behind))}
    assert probes.of_agents(cluster.pk) == wanted
    pods_become(behind, phase="ready")
    assert probes.of_agents(cluster.pk) == wanted
    pods_become(behind, phase="ready", revision=behind.spec_revision - 1)
    assert probes.of_agents(cluster.pk) == wanted
    pods_become(behind, phase="ready", revision=behind.spec_revision)
    assert probes.of_agents(cluster.pk) == {}
    pods_become(behind, phase="unhealthy")
    assert probes.of_agents(cluster.pk) == wanted


def test_nobody_asks_a_pod_that_is_not_to_run_or_has_no_gateway(cluster: Cluster, behind: Agent) -> None:
    pods_become(behind, gateway_alive=False)
    assert probes.of_agents(cluster.pk) == {}
    pods_become(behind, gateway_alive=True)
    Agent.objects.filter(pk=behind.pk).update(generation=behind.generation + 1)
    assert probes.of_agents(cluster.pk) == {}
    Agent.objects.filter(pk=behind.pk).update(generation=behind.generation, desired=Desired.STOPPED)
    assert probes.of_agents(cluster.pk) == {}


def test_a_pod_whose_token_is_lost_is_not_asked(cluster: Cluster, behind: Agent, settings: Any) -> None:
    settings.SECRETS_KEYS = ["Y2hlY2stb25seS1jaGVjay1vbmx5LWNoZWNrLTEyMzQ="]
    assert probes.of_agents(cluster.pk) == {}


def test_a_token_is_not_shown() -> None:
    assert "secret-token" not in repr(WANT)
