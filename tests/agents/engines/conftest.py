"""A real engine in a real pod: installed from its package registry, with our own model server as the provider."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from django.conf import settings

from agents.engines import ENGINES, PACKAGES
from agents.engines.base import Engine
from agents.pod import processes
from agents.pod.turns.failures import Hop, HopFailure
from agents.runtimes import certificates
from agents.runtimes.base import Access, Limits, Observation, Phase, PodSecrets, PodSpec
from agents.runtimes.local import LocalRuntime, programs
from agents.runtimes.local.programs import PodProgram
from tests.agents.backups.real import program, url
from tests.agents.engines.expectations import EXPECTED, Expected
from tests.agents.pod.bridge.process import eventually, pod_config
from tests.agents.runtimes import turn_calls
from tests.doubles.certificates import Certificates
from tests.doubles.discord import DiscordDouble
from tests.doubles.mailbox import MailboxDouble
from tests.doubles.model_server import ModelServer

__all__ = ["program", "url"]

REAL_KEY = "sk-real-4711-0815-key-of-the-owner"
MANAGEMENT_TOKEN = "management-token-4711-0815"
IDENTITY = certificates.make()
ACCESS = Access(token=MANAGEMENT_TOKEN, certificate=IDENTITY.certificate)
TICKET_KEY = "ticket-key-4711-0815"
CATALOG = Path(__file__).parents[3] / "catalog" / "data"
# The first installation takes as long as the registry needs.
INSTALL_SECONDS = 600


def smallest_tier(engine: str) -> Limits:
    """The limits of the smallest tier on which the public catalog offers the engine."""
    wanted = next(entry["min_tier"] for entry in _catalog("engines") if entry["id"] == engine)
    tier = next(entry for entry in _catalog("tiers") if entry["id"] == wanted)
    memory, disk = tier["memory_mib"] * 2**20, tier["disk_gib"] * 2**30
    return Limits(memory_bytes=memory, disk_bytes=disk, cpu=Decimal(tier["cpu"]))


def _catalog(name: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = yaml.safe_load((CATALOG / f"{name}.yaml").read_text(encoding="utf-8"))
    theirs = PACKAGES.items() if name == "engines" else ()
    return [*entries, *({"id": engine_id, **package.row} for engine_id, package in theirs)]


class EnginePod:
    """One agent's pod on the local runtime, used as the control plane uses it."""

    is_here = True  # its processes and files are on this machine
    python = "python3"  # the name by which the engine's commands find Python
    stop_seconds = 20.0
    patience = 1.0  # a factor for all waiting times

    def __init__(self, engine: Engine, runtime: LocalRuntime, model: ModelServer, home: Path) -> None:
        self.engine = engine
        self.runtime = runtime
        self.model = model
        self.home = home
        self.data = home / "data" / "agt_real"
        self.namespace = "pod-real-1"
        self.spec = self._first_spec()

    def _first_spec(self) -> PodSpec:
        provider, model = EXPECTED[self.engine.id].start
        return PodSpec(
            namespace=self.namespace,
            agent_id="agt_real",
            engine=self.engine.id,
            slug="real",
            tier="small",
            limits=smallest_tier(self.engine.id),
            config=pod_config(provider=provider, model=model, soul="You are Captain Zorblax."),
            secrets=PodSecrets(
                management_token=MANAGEMENT_TOKEN,
                ticket_key=TICKET_KEY,
                llm_key=REAL_KEY,
                llm_base_url=self.model.base_url(provider),
                dash_username=None,
                dash_password=None,
                a2a_token=None,
            ),
            identity=IDENTITY,
            public_url=None,
            console_url="http://127.0.0.1:8000",
        )

    def start(self, **config: Any) -> None:
        self.want(**config)
        self.runtime.deploy(self.spec)
        self.wait_ready(within=INSTALL_SECONDS)

    def want(self, *, key: str | None = REAL_KEY, **config: Any) -> None:
        """Change the specification for the next call of the runtime."""
        changed = dataclasses.replace(self.spec.config, **config)
        base = self.model.base_url(changed.provider) if changed.provider else None
        secrets = dataclasses.replace(self.spec.secrets, llm_key=key, llm_base_url=base)
        self.spec = dataclasses.replace(self.spec, config=changed, secrets=secrets)

    def change(self, **config: Any) -> float:
        """Configure the running pod. Returns the seconds until the new revision is in force."""
        self.want(revision=self.spec.config.revision + 1, **config)
        started = time.monotonic()
        self.runtime.configure(self.spec)
        eventually(lambda: self.seen().revision == self.spec.config.revision, within=30, what="the revision")
        return time.monotonic() - started

    def seen(self) -> Observation:
        return self.runtime.observe()[self.namespace]

    def wait_ready(self, *, within: float = 30) -> Observation:
        def ready() -> Observation | None:
            pod = self.seen()
            is_ready = pod.phase == Phase.READY and pod.gateway_alive and self.is_up_to_date(pod)
            return pod if is_ready else None

        found: Observation = eventually(ready, within=within * self.patience, what="the pod")
        return found

    def is_up_to_date(self, seen: Observation) -> bool:
        """Whether the observation is still true. Here it always is, because it is read at this moment."""
        return True

    def deaths(self) -> int:
        """How often the engine has died. A rare look can miss the seconds in which it is down, but not the count."""
        return self.seen().restarts

    def wait_for_death(self, *, after: int) -> None:
        eventually(lambda: self.deaths() > after, within=5 * self.patience, what="a death")

    def wait_for(self, phase: Phase, *, within: float) -> None:
        eventually(lambda: self.seen().phase == phase, within=within * self.patience, what=phase)

    def say(self, message: str, session: str = "talk") -> str:
        endpoint = self.runtime.endpoint(self.namespace)
        if endpoint is None:  # in a cluster, until the next pod has an address
            raise HopFailure(Hop.GATEWAY, "there is no pod")
        return turn_calls.chat(endpoint, ACCESS, message=message, session_id=session).reply

    def failing_hop(self, message: str = "hello", session: str = "talk") -> str:
        with pytest.raises(HopFailure) as failure:
            self.say(message, session)
        return failure.value.hop

    # Looking inside the pod.

    def state(self) -> dict[str, Any]:
        path = self.home / "pods" / self.namespace / "state.json"
        state: dict[str, Any] = json.loads(path.read_text())
        return state

    def signal_engine(self, number: signal.Signals) -> None:
        for process in self.engine_processes():
            os.kill(process.pid, number)

    def kill(self, victim: str) -> None:
        """Kill `engine`, `bridge`, `gateway` or `all` with SIGKILL. Processes that have ended already stay ended."""
        programs = [PodProgram(victim)] if victim in set(PodProgram) else list(PodProgram) if victim == "all" else []
        found: list[psutil.Process] = self.engine_processes() if victim in {"engine", "all"} else []
        for name in programs:
            with suppress(KeyError):
                found.append(self.program(name))
        for process in found:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)

    def write(self, path: str, text: str) -> None:
        """Write a file of the agent, as the engine would."""
        there = self.data / path
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_text(text, encoding="utf-8")

    def find(self, name: str) -> list[str]:
        """The paths of the agent's files with this name."""
        return [str(path) for path in self.data.rglob(name)]

    def engine_processes(self) -> list[psutil.Process]:
        return processes.marked(self.namespace, self.home)

    def engine_programs(self) -> list[str]:
        """The names of the engine's processes."""
        return [process.name() for process in self.engine_processes()]

    def engines(self) -> list[psutil.Process]:
        """The engine's processes. For an engine with helpers, these are left out."""
        found = self.engine_processes()
        if not EXPECTED[self.engine.id].has_helpers:
            return found
        pids = {process.pid for process in found}
        return [process for process in found if process.ppid() not in pids]

    def program(self, name: PodProgram) -> psutil.Process:
        return programs.find(self.home)[self.namespace, name]

    def session_text(self) -> str:
        """The text of the engine's own session files."""
        stores = self.engine.stores
        found = (self.data / stores.sessions).rglob(stores.session_files)
        return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in found)


ONLY = "CONFORMANCE_ENGINE"  # the id of one engine: agentpods-conformance tries only this one
IN_CLUSTER = "CONFORMANCE_IN_CLUSTER"  # try engines in pods of the cluster that TEST_KUBECONFIG names


def _tried() -> list[str]:
    if IN_CLUSTER in os.environ:
        with_image = {one.partition("=")[0] for one in os.environ["TEST_ENGINE_IMAGES"].split(",")}
        return sorted(with_image & {os.environ.get(ONLY, engine_id) for engine_id in ENGINES})
    return [os.environ[ONLY]] if ONLY in os.environ else sorted(ENGINES)


TRIED = _tried()


def _is_for_all(item: pytest.Item) -> bool:
    """Whether the test tries the engines that were asked for, and does not name an engine of its own."""
    given = getattr(item, "callspec", None)
    return "engine" in getattr(item, "fixturenames", ()) and (given is None or given.params.get("engine") in TRIED)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """agentpods-conformance runs the tests that are the same for all engines, and none for one of our engines. In a
    cluster, only the tests run that do not look at this machine.
    """
    wanted = [item for item in items if _is_wanted(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in wanted])
    items[:] = wanted
    if IN_CLUSTER in os.environ:
        for item in items:
            item.add_marker(pytest.mark.django_db(transaction=True))  # the cluster's row is in the database


def _is_wanted(item: pytest.Item) -> bool:
    if IN_CLUSTER in os.environ:
        is_possible = item.get_closest_marker("anywhere") and not item.get_closest_marker("here")
        return bool(is_possible) and _is_for_all(item)
    if item.path.stem == "test_in_a_cluster":
        return False
    return ONLY not in os.environ or _is_for_all(item)


def each(of: Callable[[Expected], Iterable[tuple[str, ...]]]) -> list[tuple[str, ...]]:
    """Parameters for the engines that a test concerns: the engine's id with each result of `of` for this engine."""
    return [(engine_id, *given) for engine_id in TRIED for given in of(EXPECTED[engine_id])]


def those(of: Callable[[Expected], object]) -> list[str]:
    """The ids of the engines that a test concerns: those for which `of` is true."""
    return [engine_id for engine_id in TRIED if of(EXPECTED[engine_id])]


@pytest.fixture(params=TRIED)
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param]


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(key=REAL_KEY) as server:
        yield server


@pytest.fixture
def pod(request: pytest.FixtureRequest, engine: Engine, model: ModelServer, tmp_path: Path) -> Iterator[EnginePod]:
    """A pod that is not started yet. All tests of the machine share the engine's installation, as all agents do."""
    if IN_CLUSTER in os.environ:
        from tests.agents.engines.in_a_cluster import pod_of

        with pod_of(engine, model, request.getfixturevalue("settings")) as there:
            yield there
        return
    home = (tmp_path / "home").resolve()
    runtime = LocalRuntime(home=home, engine_cache=settings.ENGINE_CACHE)
    pod = EnginePod(engine, runtime, model, home)
    yield pod
    runtime.delete(pod.namespace, agent_id="agt_real", data=True)


@pytest.fixture
def second(engine: Engine, model: ModelServer, tmp_path: Path) -> Iterator[EnginePod]:
    """A pod with a home of its own, as on another machine."""
    home = (tmp_path / "second").resolve()
    runtime = LocalRuntime(home=home, engine_cache=settings.ENGINE_CACHE)
    pod = EnginePod(engine, runtime, model, home)
    yield pod
    runtime.delete(pod.namespace, agent_id="agt_real", data=True)


@pytest.fixture
def discord() -> Iterator[DiscordDouble]:
    with DiscordDouble() as double:
        yield double


@pytest.fixture
def mailbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MailboxDouble]:
    certificates = Certificates(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.authority))
    with MailboxDouble(certificates.server("localhost")) as double:
        yield double
