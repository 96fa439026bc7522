"""Watching 1,000 pods: our observer, and a hub with KubeSpawner, each with a cluster of its own (the double).

Both rest in the same minute. Then a container of each pod restarts: ours writes that into the rows of pods, KubeSpawner
keeps it in memory.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from django.db.models import Sum
from django.test.utils import override_settings
from django.utils import timezone

from agents import creation
from agents.clusters import connections
from agents.clusters.models import Cluster, Pod
from agents.models import Agent
from agents.running import identity, pods
from agents.runtimes.base import Phase
from agents.runtimes.kubernetes.driver import KubernetesRuntime
from agents.runtimes.local.measure import memory_of
from benchmarks import customers, load, owing, processes
from benchmarks.peers import hub, installed
from benchmarks.peers.cluster import cluster
from benchmarks.peers.reads import OURS
from benchmarks.peers.rows import PeerFigure
from benchmarks.processes import Program

PODS = 1_000
REST = f"watch {PODS:,} pods, at rest"
CHANGES = f"a change of each of {PODS:,} pods"
THEIRS = f"JupyterHub, KubeSpawner {installed.version('jupyterhub-kubespawner')}"
REST_SECONDS = 60.0
CHANGE_SECONDS = 20.0  # by then, the changes are seen and written
MB = 1_000_000
IMAGES = {"AGENT_RUNTIME": "kubernetes", "POD_IMAGE": "registry.example/agentpods:1"}
ENGINE_IMAGE = "registry.example/pi:1"


@dataclass(frozen=True)
class PodWatcher:
    who: str
    programs: Sequence[Program]
    cluster: Program
    change: Callable[[], None]

    def cpu_seconds(self) -> float:
        return sum(program.cpu_seconds() for program in self.programs)

    def megabytes(self) -> float:
        """Of the first program."""
        root = psutil.Process(self.programs[0].pid)
        return memory_of(process.pid for process in (root, *root.children(recursive=True))) / MB


def measure() -> list[PeerFigure]:
    with ExitStack() as stack:
        watchers = [stack.enter_context(_ours()), stack.enter_context(_theirs())]
        processes.wait_until_calm([watcher.cluster for watcher in watchers])
        before, begun = [watcher.cpu_seconds() for watcher in watchers], time.monotonic()
        time.sleep(REST_SECONDS)
        lasted = time.monotonic() - begun
        rests = [(watcher.cpu_seconds() - used) / lasted for watcher, used in zip(watchers, before, strict=True)]
        at_rest = [
            PeerFigure(what=REST, who=watcher.who, at_rest=rest * 100, megabytes=watcher.megabytes())
            for watcher, rest in zip(watchers, rests, strict=True)
        ]
        return at_rest + [_changed(watcher, rest) for watcher, rest in zip(watchers, rests, strict=True)]


def _changed(watcher: PodWatcher, rest: float) -> PeerFigure:
    """CPU for each change, without what the same time of rest takes."""
    before, begun = watcher.cpu_seconds(), time.monotonic()
    watcher.change()
    time.sleep(CHANGE_SECONDS)
    used = watcher.cpu_seconds() - before - rest * (time.monotonic() - begun)
    return PeerFigure(what=CHANGES, who=watcher.who, cpu_ms=used * 1000 / PODS)


# Ours.


@contextmanager
def _ours() -> Iterator[PodWatcher]:
    with cluster() as double, override_settings(**IMAGES, ENGINE_IMAGES={"pi": ENGINE_IMAGE}):
        row = Cluster.objects.create(
            name="double", kubeconfig=double.kubeconfig, routing="none", capacity=PODS, observed_at=timezone.now()
        )
        agent = _deployed(row)
        number = range(1, PODS)
        double.copy(agent.suffix, [{agent.suffix: _suffix(one), agent.id: f"agt_{_suffix(one)}"} for one in number])
        environment = {**IMAGES, "ENGINE_IMAGES": f"pi={ENGINE_IMAGE}"}
        with processes.started("django", "observe", environment=environment) as observer:
            owing.wait(lambda: Pod.objects.filter(phase=Phase.READY).count() == PODS)
            programs = [Program(observer.pid), processes.postgres(), processes.store_of_tasks()]
            yield PodWatcher(f"{OURS}, observer", programs, double.program, lambda: double.restart("gateway"))
            restarts = Pod.objects.aggregate(all=Sum("restarts"))["all"]
            if restarts != PODS:
                raise RuntimeError(f"{restarts} of {PODS} restarts were seen")


def _suffix(number: int) -> str:
    return f"{number:024x}"


def _deployed(row: Cluster) -> Agent:
    """One agent's pod, as the driver makes it."""
    wanted = creation.NewAgent(persona_id="exam-coach", tier="small")
    agent, _ = creation.create(customers.one().user, wanted, actor="benchmark")
    KubernetesRuntime().deploy(pods.spec_of(identity.ensured(agent)))
    there = f"/api/v1/namespaces/{agent.namespace}/pods"
    found = connections.of(row)
    owing.wait(lambda: [one["status"]["phase"] for one in found.get(there)["items"]] == ["Running"])
    KubernetesRuntime().secure(agent.namespace)
    return agent


# Theirs.


@contextmanager
def _theirs() -> Iterator[PodWatcher]:
    with ExitStack() as stack:
        double = stack.enter_context(cluster())
        kubeconfig = Path(stack.enter_context(TemporaryDirectory()), "kubeconfig")
        kubeconfig.write_text(double.kubeconfig)
        environment = {"KUBECONFIG": str(kubeconfig), "HUB_POD_PORT": str(stack.enter_context(_a_server()))}
        theirs = stack.enter_context(hub.running("kubespawner.KubeSpawner", **environment))
        load.run(theirs.program.port, [theirs.post("/users/user-000")], connections=1).expect(201)
        load.run(theirs.program.port, [theirs.post("/users/user-000/server")], connections=1).expect(201)
        double.copy("user-000", [{"user-000": f"user-{number:03}"} for number in range(1, PODS)])
        yield PodWatcher(THEIRS, [theirs.program], double.program, lambda: double.restart("notebook"))


@contextmanager
def _a_server() -> Iterator[int]:
    """The port of a server that answers the hub in the place of a pod."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


class _Answering(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""
