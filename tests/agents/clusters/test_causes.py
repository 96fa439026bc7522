"""Why a pod does not run, in the cluster's own words. Each case is a literal."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agents.clusters import reading
from agents.clusters.reading import PodState
from agents.runtimes.base import Phase
from tests.agents.clusters.observing import (
    NOW,
    UNREADY,
    Json,
    condition,
    deployment,
    ended,
    event,
    metadata,
    mounting,
    namespace,
    pod,
    running,
    see,
    waiting,
)

BACK_OFF = 'Back-off pulling image "registry.example/pi:1": not found'
QUOTA = 'pods "pod-1" is forbidden: exceeded quota: pod, requested: pods=1, used: pods=2, limited: pods=2'
SECURITY = 'pods "pod-1" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false'
WEBHOOK = 'admission webhook "policy.example" denied the request: image is not signed'


# Causes from the state of a container.


@pytest.mark.parametrize(
    ("container", "cause", "phase", "words"),
    [
        (waiting("engine", "ImagePullBackOff", BACK_OFF), "IMAGE_PULL", Phase.STARTING, BACK_OFF),
        (waiting("engine", "ErrImageNeverPull"), "IMAGE_PULL", Phase.STARTING, "ErrImageNeverPull"),
        (waiting("engine", "InvalidImageName", "bad"), "IMAGE_PULL", Phase.FAILED, "bad"),
        (
            waiting("engine", "CreateContainerConfigError", 'secret "engine" not found'),
            "CONFIG",
            Phase.STARTING,
            'secret "engine" not found',
        ),
        (waiting("engine", "RunContainerError", "exec: no such file"), "BOOT", Phase.STARTING, "exec: no such file"),
        (
            waiting("engine", "CrashLoopBackOff", "back-off 10s", restarts=1, last=ended(1, message="no data")),
            "CRASH_LOOP",
            Phase.STARTING,
            "engine: ended with exit code 1 (Error): no data",
        ),
        (
            waiting("engine", "CrashLoopBackOff", restarts=5, last=ended(1)),
            "CRASH_LOOP",
            Phase.FAILED,
            "engine: ended with exit code 1 (Error)",
        ),
        (
            waiting("engine", "CrashLoopBackOff", restarts=1, last=ended(137, "OOMKilled")),
            "OOM",
            Phase.STARTING,
            "engine: ended with exit code 137 (OOMKilled)",
        ),
        (
            running("engine", ready=False, restarts=1, last=ended(137, "OOMKilled")),
            "OOM",
            Phase.STARTING,
            "engine: ended with exit code 137 (OOMKilled)",
        ),
    ],
)
def test_a_container_says_why_it_does_not_run(container: Json, cause: str, phase: Phase, words: str) -> None:
    told = see(pod(container, running("gateway")))
    assert (told.cause, told.phase, told.message) == (cause, phase, words)
    assert any(words in line for line in told.evidence) or container["state"]["waiting"]["reason"] in words


def test_what_a_cluster_puts_before_the_pods_containers_may_fail_too() -> None:
    init = waiting("mesh", "CrashLoopBackOff", restarts=2, last=ended(1))
    told = see(pod(waiting("engine", "PodInitializing"), waiting("gateway", "PodInitializing"), init=init))
    assert (told.cause, told.message) == ("CRASH_LOOP", "mesh: ended with exit code 1 (Error)")


def test_what_keeps_the_gateway_is_told_before_the_end_of_an_engine_that_waited_for_it() -> None:
    tired = waiting("engine", "CrashLoopBackOff", restarts=2, last=ended(0, "Completed"))
    told = see(pod(tired, waiting("gateway", "ErrImagePull", "404")))
    assert (told.cause, told.message) == ("IMAGE_PULL", "404")


def test_one_end_alone_is_no_loop() -> None:
    once = {"name": "engine", "ready": False, "restartCount": 0, "state": {"terminated": ended(1)}}
    assert see(pod(once, running("gateway"))).cause is None


def test_an_end_of_long_ago_does_not_explain_what_is_now() -> None:
    old = running("engine", ready=False, restarts=1, last=ended(1, at="2026-11-22T11:00:00Z"))
    assert see(pod(old, running("gateway"))).cause is None


def test_an_engine_that_just_ran_out_of_memory_says_so_for_a_while() -> None:
    again = running("engine", restarts=1, last=ended(137, "OOMKilled"))
    assert (see(pod(again, running("gateway"))).phase, see(pod(again, running("gateway"))).cause) == ("ready", "OOM")
    later = reading.read(
        PodState(namespace=namespace(), deployment=deployment(), pods=[pod(again, running("gateway"))]),
        now=NOW + timedelta(minutes=11),
    )
    assert later.cause is None


# Causes from the conditions of a pod.


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("0/3 nodes are available: 3 Insufficient memory.", "NO_CAPACITY"),
        ("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.", "VOLUME"),
        ('persistentvolumeclaim "data" not found', "VOLUME"),
    ],
)
def test_a_pod_that_no_node_takes_says_why(message: str, cause: str) -> None:
    alone = {"metadata": metadata("pod-1"), "status": {"phase": "Pending"}}
    alone["status"]["conditions"] = [condition("PodScheduled", "False", "Unschedulable", message)]
    told = see(alone)
    assert (told.phase, told.cause, told.message) == (Phase.STARTING, cause, message)


def test_a_pod_that_was_evicted_says_so_for_a_while_also_when_the_next_one_is_ready() -> None:
    words = "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi."
    old = pod(name="old", phase="Failed", reason="Evicted", message=words)
    new = pod(*UNREADY)
    assert (see(old, new).cause, see(old, new).message) == ("EVICTED", words)
    assert (see(old, pod()).phase, see(old, pod()).cause) == (Phase.READY, "EVICTED")


def test_an_eviction_is_evidence_where_the_next_pod_has_another_trouble() -> None:
    old = pod(name="old", phase="Failed", reason="Evicted", message="no memory")
    told = see(old, pod(waiting("engine", "ErrImagePull", "404"), running("gateway")))
    assert (told.cause, told.evidence) == ("IMAGE_PULL", ("engine: ErrImagePull: 404", "pod old: Evicted: no memory"))


def test_an_eviction_that_only_an_event_tells_of_is_one() -> None:
    old = pod(*(running(name, ready=False) for name in ("engine", "gateway")), name="old", phase="Succeeded")
    told = see(old, events=[event("Evicted", "Usage of EmptyDir volume exceeds the limit", about="old")])
    assert (told.phase, told.cause) == (Phase.STARTING, "EVICTED")
    assert told.evidence[0] == "Evicted (Pod old): Usage of EmptyDir volume exceeds the limit"


def test_an_eviction_of_long_ago_explains_nothing() -> None:
    at = "2026-11-22T10:00:00Z"
    old = pod(name="old", phase="Failed", reason="Evicted", meta={"creationTimestamp": at})
    assert see(old, pod(*UNREADY)).cause is None


def test_a_node_that_fell_silent_takes_its_pod_with_it() -> None:
    """The cluster marks the pod as not ready. The states of its containers stay as the node reported them last."""
    lost = pod(conditions=[condition("Ready", "False")])
    told = see(lost, was_ready=True)
    assert (told.phase, told.gateway_alive, told.cause) == (Phase.UNHEALTHY, False, "NODE_LOST")


def test_a_pod_that_left_a_lost_node_says_so_while_the_next_one_starts() -> None:
    target = condition("DisruptionTarget", "True", "DeletionByTaintManager", "Taint manager: deleting due to NoExecute")
    old = pod(name="old", conditions=[target], meta={"deletionTimestamp": "2026-11-22T11:59:30Z"})
    assert see(old, pod(*UNREADY)).cause == "NODE_LOST"


# Causes from the conditions of the deployment.


@pytest.mark.parametrize(
    ("message", "cause", "phase"),
    [
        (QUOTA, "QUOTA", Phase.STARTING),
        (SECURITY, "ADMISSION", Phase.FAILED),
        (WEBHOOK, "ADMISSION", Phase.STARTING),
        ("etcdserver: request timed out", "BOOT", Phase.STARTING),
    ],
)
def test_a_pod_that_is_refused_says_by_whom(message: str, cause: str, phase: Phase) -> None:
    told = see(conditions=[condition("ReplicaFailure", "True", "FailedCreate", message)])
    assert (told.cause, told.phase, told.message, told.evidence) == (
        cause,
        phase,
        message,
        (f"FailedCreate: {message}",),
    )
    by_event = see(events=[event("FailedCreate", message, about="pod-abc", kind="ReplicaSet")])
    assert (by_event.cause, by_event.phase, by_event.message) == (cause, phase, message)


def test_a_refusal_that_was_overcome_is_forgotten() -> None:
    assert see(pod(), conditions=[condition("ReplicaFailure", "True", "FailedCreate", QUOTA)]).cause is None
    old = event("FailedCreate", QUOTA, about="pod-abc", kind="ReplicaSet", at="2026-11-22T11:00:00Z")
    assert see(events=[old]).cause is None


# Causes from events.


@pytest.mark.parametrize(
    ("happened", "cause"),
    [
        (event("FailedMount", "MountVolume.SetUp failed for volume data"), "VOLUME"),
        (event("FailedAttachVolume", "Multi-Attach error for volume pvc-1"), "VOLUME"),
        (event("ProvisioningFailed", "no space in the pool", about="data", kind="PersistentVolumeClaim"), "VOLUME"),
        (event("FailedCreatePodSandBox", "no network"), "BOOT"),
        (event("FailedMount", "of another pod", about="pod-0"), None),
    ],
)
def test_a_pod_that_does_not_begin_says_why_in_its_events(happened: Json, cause: str | None) -> None:
    told = see(mounting(), events=[happened])
    assert told.cause == cause
    assert told.message == (happened["message"] if cause else None)


def test_a_volume_that_came_late_is_no_cause_any_more() -> None:
    late = event("FailedMount", "not attached yet", at="2026-11-22T11:59:20Z")
    assert see(mounting(), events=[late, event("Pulling", "Pulling image", at="2026-11-22T11:59:40Z")]).cause is None


def test_events_go_with_the_cause_as_evidence() -> None:
    failed = event("Failed", "Failed to pull image: 404")
    told = see(pod(waiting("engine", "ErrImagePull", "404"), running("gateway")), events=[failed])
    assert told.evidence == ("engine: ErrImagePull: 404", "Failed (Pod pod-1): Failed to pull image: 404")
