"""Each runtime, on an empty home of its own, with the double of an engine and a model server."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from pytest_django import Settings

from agents import runtimes
from agents.engines.pi import PI
from agents.pod.restic import brought
from agents.runtimes import certificates
from agents.runtimes.base import Access, Limits, Observation, Phase, PodSecrets, PodSpec, Runtime
from agents.runtimes.kubernetes.driver import KubernetesRuntime
from agents.runtimes.local import LocalRuntime
from tests.agents.backups.real import program, url  # noqa: F401 # fixtures
from tests.agents.clusters import ground
from tests.agents.pod.bridge.process import eventually, pod_config
from tests.coverage_scope import told_nothing
from tests.doubles.pi import install_double

MANAGEMENT_TOKEN = "management-token-of-this-test"
IDENTITY = certificates.make()
ACCESS = Access(token=MANAGEMENT_TOKEN, certificate=IDENTITY.certificate)
REAL_KEY = "sk-the-real-key-of-this-test"
NAMESPACE = "pod-abc-1"
AGENT = "agt_abc"


def pod_spec(
    namespace: str = NAMESPACE, *, agent_id: str = AGENT, key: str | None = REAL_KEY, **config: Any
) -> PodSpec:
    return PodSpec(
        namespace=namespace,
        agent_id=agent_id,
        engine=PI.id,
        slug="abc",
        tier="tiny",
        limits=Limits(memory_bytes=512 * 2**20, disk_bytes=2 * 2**30, cpu=Decimal("0.25")),
        config=pod_config(**config),
        secrets=PodSecrets(
            management_token=MANAGEMENT_TOKEN,
            ticket_key="ticket-key-of-this-test",
            llm_key=key,
            llm_base_url="http://127.0.0.1:9/v1",
            dash_username=None,
            dash_password=None,
            a2a_token=None,
        ),
        identity=IDENTITY,
        public_url=None,
        console_url="http://127.0.0.1:8000",
    )


def wait_for(
    runtime: Runtime, wanted: Phase | Callable[[Observation], bool], namespace: str = NAMESPACE, within: float = 30.0
) -> Observation:
    """Wait for the wanted state of the pod. With a phase: for READY, the pod's gateway must answer too."""

    def seen() -> Observation | None:
        pod = runtime.observe().get(namespace)
        return pod if pod and _is_as(wanted, pod) else None

    found: Observation = eventually(seen, within=within * ground.PATIENCE, what=f"{namespace}: {wanted}", pause=0.2)
    return found


def _is_as(wanted: Phase | Callable[[Observation], bool], pod: Observation) -> bool:
    if not isinstance(wanted, Phase):
        return wanted(pod)
    return pod.phase == wanted and (pod.gateway_alive or wanted != Phase.READY)


def with_secrets(spec: PodSpec, **changes: Any) -> PodSpec:
    return dataclasses.replace(spec, secrets=dataclasses.replace(spec.secrets, **changes))


def clear_away(runtime: Runtime) -> None:
    for namespace in runtime.observe():
        runtime.delete(namespace, agent_id=AGENT, data=True)


@pytest.fixture(autouse=True)
def pods_unmeasured() -> Iterator[None]:
    """The pods' programs are measured for coverage in their own tests (tests/agents/pod)."""
    with told_nothing():
        yield


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalRuntime]:
    """The local runtime on a home of its own."""
    cache = install_double(tmp_path / "engines")
    restic = str(brought(configured.ENGINE_CACHE))  # only its path is needed until a backup is made
    runtime = LocalRuntime(home=tmp_path / "home", engine_cache=cache, restic=restic)
    yield runtime
    clear_away(runtime)


@pytest.fixture
def kubernetes(tmp_path: Path, settings: Settings) -> Iterator[KubernetesRuntime]:
    """The Kubernetes runtime, on a cluster of its own, with an observer."""
    with ground.runtime_on(tmp_path, settings) as runtime:
        yield runtime
        clear_away(runtime)


IN_CLUSTERS = pytest.param("kubernetes", marks=[pytest.mark.django_db(transaction=True), pytest.mark.unmeasured])


@pytest.fixture
def of_a_third_party(tmp_path: Path, settings: Settings) -> Iterator[Runtime]:
    """The runtime that agentpods-conformance names. Here, ENGINE_CACHE has the double of an engine for it."""
    settings.RESTIC = str(brought(configured.ENGINE_CACHE))
    settings.AGENTPODS_HOME, settings.ENGINE_CACHE = tmp_path / "home", install_double(tmp_path / "engines")
    runtime = runtimes.make(os.environ[THEIRS])
    yield runtime
    clear_away(runtime)


# On the double of a cluster, the suite runs these tests, and `make test-slow` runs the others: each starts the
# programs of a pod, which are the same as on the local runtime. On a real cluster, all tests run.
TRIED_ON_THE_DOUBLE = (
    "test_a_deployed_pod_becomes_ready_on_its_revision",
    "test_a_namespace_that_was_never_deployed_is_not_observed",
    "test_a_stopped_pod_comes_back_at_its_address_with_its_conversations",
    "test_a_gateway_with_an_earlier_certificate_is_replaced_and_conversations_go_on",
    "test_what_a_pod_says_is_told_while_it_lives_and_where_files_stay_afterwards",
    "test_a_running_pods_log_is_kept_now_and_then_where_it_goes_with_the_pod",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        name, _, runtime = item.name.partition("[")
        is_on_the_double = runtime == "kubernetes]" and item.path.name == "test_contract.py" and not ground.is_real
        if is_on_the_double and name not in TRIED_ON_THE_DOUBLE:
            item.add_marker(pytest.mark.slow)


THEIRS = "CONFORMANCE_RUNTIME"
OURS = [IN_CLUSTERS] if ground.is_real else ["local", IN_CLUSTERS]


@pytest.fixture(params=["of_a_third_party"] if THEIRS in os.environ else OURS)
def runtime(request: pytest.FixtureRequest) -> Runtime:
    """Each runtime in turn, or only the runtime of a third party."""
    found: Runtime = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def ready(runtime: Runtime) -> Runtime:
    """A runtime with one pod that is ready."""
    runtime.deploy(pod_spec())
    wait_for(runtime, Phase.READY)
    return runtime
