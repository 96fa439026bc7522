"""What an observer reports of a pod, from what the cluster shows. Each case is a literal."""

from __future__ import annotations

from typing import Any

import pytest

from agents.clusters import objects, reading
from agents.clusters.reading import PodState
from agents.runtimes.base import Phase
from agents.runtimes.management import GatewayHealth
from tests.agents.clusters.observing import (
    AGENT,
    NOW,
    UNREADY,
    Json,
    condition,
    deployment,
    ended,
    mounting,
    namespace,
    pod,
    running,
    see,
    waiting,
)


def said(phase: str, cause: str | None = None, **more: Any) -> GatewayHealth:
    """A gateway's answer with this state of the engine, as the bridge reports it."""
    state = {"phase": phase, "revision": 3, "restarts": 0, "cause": cause, "message": None, "evidence": [], **more}
    return GatewayHealth(revision=3, has_key=True, engine=state)


# Phases.


def test_a_namespace_that_goes_has_a_stopped_pod_and_says_what_holds_it() -> None:
    gone = namespace(deletionTimestamp="2026-11-22T11:59:59Z")
    gone["status"]["conditions"] = [
        condition("NamespaceFinalizersRemaining", "True", message="held by example.com/held")
    ]
    told = reading.read(PodState(namespace=gone, deployment=deployment(), pods=[pod()]), now=NOW)
    assert (told.phase, told.gateway_alive, told.message) == (Phase.STOPPED, False, "held by example.com/held")
    assert told.going


def test_in_a_namespace_without_its_deployment_nothing_runs() -> None:
    assert reading.read(PodState(namespace=namespace()), now=NOW).phase == Phase.STOPPED


def test_scaled_to_nothing_and_nobody_there_is_stopped() -> None:
    assert see(replicas=0).phase == Phase.STOPPED


def test_the_remains_of_an_evicted_pod_do_not_keep_it_from_being_stopped() -> None:
    assert see(pod(phase="Failed", reason="Evicted"), replicas=0).phase == Phase.STOPPED


def test_scaled_to_nothing_and_still_there_is_ending() -> None:
    told = see(pod(meta={"deletionTimestamp": "2026-11-22T11:59:59Z"}), replicas=0)
    assert (told.phase, told.message, told.gateway_alive) == (Phase.UNHEALTHY, "the pod is ending", False)


def test_a_pod_whose_containers_are_ready_is_ready() -> None:
    told = see(pod(), revision=4)
    assert (told.phase, told.gateway_alive, told.cause, told.pod_ip) == (Phase.READY, True, None, "127.8.0.1")
    assert (told.agent_id, told.revision, told.life) == (AGENT, 4, ("127.8.0.1", 0))


def test_a_ready_engine_behind_a_dead_gateway_is_not_reached() -> None:
    told = see(pod(running("engine"), waiting("gateway", "CrashLoopBackOff", restarts=2, last=ended(1))))
    assert (told.phase, told.gateway_alive, told.cause) == (Phase.READY, False, "CRASH_LOOP")


def test_a_gateway_that_never_comes_up_fails_the_pod() -> None:
    told = see(pod(running("engine"), waiting("gateway", "CrashLoopBackOff", restarts=5, last=ended(1))))
    assert told.phase == Phase.FAILED


def test_an_engine_that_is_not_ready_yet_is_starting() -> None:
    assert see(pod(running("engine", ready=False), running("gateway"))).phase == Phase.STARTING


def test_an_engine_that_was_ready_and_is_not_now_is_unhealthy() -> None:
    assert see(pod(running("engine", ready=False), running("gateway")), was_ready=True).phase == Phase.UNHEALTHY


def test_what_is_seen_is_of_the_newest_pod_that_stays() -> None:
    old = pod(name="old", meta={"deletionTimestamp": "2026-11-22T11:59:30Z"}, podIP="127.8.0.9")
    new = pod(running("engine", ready=False), running("gateway", ready=False))
    assert see(old, new).pod_ip == "127.8.0.1"
    assert see(old).phase == Phase.UNHEALTHY


def test_restarts_of_all_containers_count() -> None:
    init = running("mesh", restarts=1)
    told = see(pod(running("engine", restarts=2), running("gateway", restarts=3), init=init))
    assert told.restarts == 6


# What the bridge reports while the engine is not ready.


@pytest.mark.parametrize(
    ("health", "phase", "cause"),
    [
        (said("installing"), Phase.INSTALLING, None),
        (said("starting"), Phase.STARTING, None),
        (said("ready"), Phase.STARTING, None),
        (said("unhealthy", "ENGINE_HUNG"), Phase.UNHEALTHY, "ENGINE_HUNG"),
        (said("failed", "CRASH_LOOP"), Phase.FAILED, "CRASH_LOOP"),
        (said("stopped"), Phase.UNHEALTHY, None),
        (GatewayHealth(revision=1, has_key=True, engine=None), Phase.STARTING, None),
    ],
)
def test_the_bridge_knows_more_than_the_cluster(health: GatewayHealth, phase: Phase, cause: str | None) -> None:
    told = see(pod(*UNREADY), health=health)
    assert (told.phase, told.cause) == (phase, cause)


def test_the_bridges_words_are_told() -> None:
    health = said("failed", "PORT", message="port 8084 is taken", evidence=["EADDRINUSE"], since=NOW.isoformat())
    told = see(pod(*UNREADY), health=health)
    assert (told.message, told.evidence, told.since) == ("port 8084 is taken", ("EADDRINUSE",), NOW)


@pytest.mark.parametrize(
    "state",
    [
        {"phase": "owned"},
        {"phase": "failed", "cause": "x" * 30, "evidence": 5},
        {"phase": "failed", "cause": 7},
        {"phase": ["failed"], "since": {}},
        ["failed"],
    ],
)
def test_an_engine_that_speaks_for_its_bridge_breaks_nothing(state: Any) -> None:
    told = see(pod(*UNREADY), health=GatewayHealth(revision=1, has_key=True, engine=state))
    assert told.cause is None


def test_words_are_such_as_a_database_can_hold() -> None:
    told = see(pod(*UNREADY), health=said("failed", "PORT", message="a\0b\ud800" + "c" * 5000, evidence=["\0", 3]))
    assert told.message is not None
    assert told.message.startswith("ab?")
    assert len(told.message) == 1000


def test_a_bridge_whose_container_ended_is_not_believed() -> None:
    dead = waiting("engine", "CrashLoopBackOff", restarts=1, last=ended(1))
    assert see(pod(dead, running("gateway")), health=said("starting")).cause == "CRASH_LOOP"


@pytest.mark.parametrize(
    ("health", "revision"),
    [
        (said("ready"), 3),
        (said("ready", revision=2), 2),
        (said("starting"), None),
        (said("ready", revision=None), None),
        (said("ready", revision=2**40), None),
    ],
)
def test_a_revision_is_applied_when_gateway_and_ready_engine_have_it(
    health: GatewayHealth, revision: int | None
) -> None:
    assert reading.applied(health) == revision


# For which pods events are read.


@pytest.mark.parametrize(
    ("pods", "wanted"),
    [
        ([pod()], False),
        ([pod(*UNREADY)], False),
        ([mounting()], True),
        ([mounting(age="2026-11-22T11:59:58Z")], False),
        ([pod(waiting("engine", "ErrImagePull"), running("gateway"))], True),
        ([pod(name="old", phase="Succeeded"), pod()], True),
        ([pod(name="old", phase="Failed", reason="Evicted"), pod()], False),
        ([], True),
    ],
)
def test_events_are_read_only_of_who_is_in_trouble(pods: list[Json], wanted: bool) -> None:
    seen = PodState(namespace=namespace(), deployment=deployment(), pods=pods)
    assert reading.wants_events(seen, reading.read(seen, now=NOW), now=NOW) is wanted


def test_events_of_a_stopped_pod_are_not_read() -> None:
    seen = PodState(namespace=namespace(), deployment=deployment(replicas=0))
    assert not reading.wants_events(seen, reading.read(seen, now=NOW), now=NOW)


# Which parts of an object are kept.


def test_what_is_kept_of_an_object_is_what_is_read_of_it() -> None:
    whole = pod(init=running("mesh"), conditions=[condition("Ready", "True")])
    whole["metadata"]["managedFields"] = [{"manager": "kubelet"}]
    whole["spec"] = {"containers": [{"name": "engine"}]}
    whole["status"]["containerStatuses"][0]["imageID"] = "sha256:1"
    kept = objects.keep_pod(whole)
    assert see(kept) == see(whole)
    assert "spec" not in kept
    assert "managedFields" not in kept["metadata"]
    assert "imageID" not in kept["status"]["containerStatuses"][0]
    assert objects.keep_deployment({**deployment(replicas=0), "status": None})["spec"] == {"replicas": 0}
