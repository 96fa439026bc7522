"""The same real engine, from its image, in a pod of the cluster that TEST_KUBECONFIG names (CONTRIBUTING.md)."""

from __future__ import annotations

import base64
import dataclasses
import inspect
import itertools
import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pytest_django import Settings

from agents.clusters import connections
from agents.clusters.api import names
from agents.engines.base import Engine
from agents.pod.turns.failures import EngineError, HopFailure
from agents.runtimes import management
from agents.runtimes.base import Observation
from tests.agents.clusters import ground, reaping
from tests.agents.clusters.reaping import ADMIN_KUBECONFIG
from tests.agents.engines import looking
from tests.agents.engines.conftest import EnginePod
from tests.doubles.model_server import ModelServer
from tests.doubles.reached import ADDRESS

if TYPE_CHECKING:
    from kubernetes.client import CoreV1Api

EXEC_SECONDS = 120

# The bridge is process 1 of the container. The program that looks is a process too, and leaves itself out.
_THE_OTHERS = """
import os, signal
def others():
    seen = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in seen if pid not in (1, os.getpid())]
"""
_SIGNAL = (
    _THE_OTHERS
    + """
def deed(number):
    for pid in others():
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass
    return len(others())
"""
)
_WRITE = """
import pathlib
def deed(path, text):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
"""
_FIND = """
import pathlib
def deed(directory, name):
    return [str(path) for path in pathlib.Path(directory).rglob(name)]
"""
_PROGRAMS = (
    _THE_OTHERS
    + """
def deed():
    return [open(f"/proc/{pid}/comm").read().strip() for pid in others()]
"""
)
_RIGHTS = (
    _THE_OTHERS
    + """
def deed():
    told = [open(f"/proc/{pid}/status").read() for pid in [1, *others()]]
    users = {int(part) for text in told for part in text.split("Uid:")[1].split("\\n")[0].split()}
    return sorted(users), all("NoNewPrivs:\\t1" in text for text in told)
"""
)
# Looks for secrets in all that the engine's user can read of its processes, and in all of its own files.
_HELD = (
    _THE_OTHERS
    + inspect.getsource(looking).replace("from __future__ import annotations\n", "")
    + """
def deed(secrets, directories):
    wanted = [one.encode() for one in secrets]
    found = []
    for pid in others():
        for name in ("environ", "cmdline", "maps"):
            try:
                seen = Path(f"/proc/{pid}/{name}").read_bytes()
            except OSError:
                continue
            found += [f"{pid} {name}: {one.decode()}" for one in wanted if one in seen]
        try:
            found += [f"{pid} memory: {one.decode()}" for one in found_in_memory(pid, wanted)]
        except FileNotFoundError:
            continue
    for directory in directories:
        for path in Path(directory).rglob("*"):
            if path.is_file() and not path.is_symlink():
                try:
                    seen = path.read_bytes()
                except OSError:
                    continue
                found += [f"{path}: {one.decode()}" for one in wanted if one in seen]
    return found
"""
)


class ClusterPod(EnginePod):
    """A pod in a cluster, with the same methods. Tests that look at this machine's processes or files skip it."""

    is_here = False
    python = f"{names.BRIDGE_DIRECTORY}/bin/python"  # not every engine's image has a Python
    stop_seconds = 30.0  # enough time for a cluster to notice that nothing of the pod is left

    def __init__(self, engine: Engine, runtime: ground.ToldRuntime, model: ModelServer) -> None:
        here: Any = runtime  # tests use only methods that all runtimes have
        super().__init__(engine, here, model, Path(names.RUN_DIRECTORY))
        self.data = Path(names.DATA_DIRECTORY)
        self.patience = ground.PATIENCE
        self._client = Administrator()
        own = f"{time.strftime('%H%M%S')}x{next(_numbers)}"
        self.namespace = f"pod-real{own}-1"
        self.spec = dataclasses.replace(
            self.spec, namespace=self.namespace, agent_id=f"agt_real{own}", slug=f"real{own}"
        )

    def is_up_to_date(self, seen: Observation) -> bool:
        """The engine may have died since the observation, so the pod itself must report the same phase."""
        with suppress(HopFailure):
            return bool(self._told()["phase"] == seen.phase)
        return False

    def deaths(self) -> int:
        """The deaths of the engine, as its bridge counts them. An observation counts restarts of containers."""
        return int(self._told()["restarts"])

    def is_walled(self) -> bool:
        """Whether the bridge reports that the engine's programs reach the gateway's ports alone."""
        return self._told()["walled"] is True

    def _told(self) -> dict[str, Any]:
        """The state that the bridge reports at this moment."""
        endpoint = self.runtime.endpoint(self.namespace)
        engine = management.health(endpoint, self.spec.access).engine if endpoint else None
        if engine is None:
            raise EngineError("the bridge does not answer")
        return engine

    def signal_engine(self, number: signal.Signals) -> None:
        self.inside(_SIGNAL, number)

    def engine_programs(self) -> list[str]:
        """The names of the engine's processes; none if the pod has ended."""
        found: list[str] = self.inside(_PROGRAMS) if self._pods() else []
        return found

    def kill(self, victim: str) -> None:
        """Kill with SIGKILL. Our programs are the first processes of their containers, and nothing inside a container
        can kill those. So for each of them the whole pod is deleted at once, as when a node is lost.
        """
        if victim == "engine":
            with suppress(Exception):  # there may be no engine, or no pod, at this moment
                self.signal_engine(signal.SIGKILL)
            return
        for name in self._pods():
            with suppress(self._client.NotFound):
                self._client.api.delete_namespaced_pod(name, self.namespace, grace_period_seconds=0)

    def write(self, path: str, text: str) -> None:
        self.inside(_WRITE, str(self.data / path), text)

    def find(self, name: str) -> list[str]:
        found: list[str] = self.inside(_FIND, str(self.data), name)
        return found

    def held(self, *secrets: str) -> list[str]:
        """The places in the engine's processes and files where these secrets are."""
        found: list[str] = self.inside(_HELD, secrets, [names.DATA_MOUNT, names.RUN_DIRECTORY, "/tmp"])
        return found

    def rights(self) -> tuple[set[int], bool]:
        """The users of all processes, and whether no process can gain more rights than it has."""
        users, none_gains = self.inside(_RIGHTS)
        return set(users), none_gains

    def inside(self, source: str, *arguments: Any) -> Any:
        """Run the program with the bridge's Python beside the engine. Returns the result of its function `deed`."""
        program = f"{source}\nimport base64, json, sys\n"
        program += "print(json.dumps(deed(*json.loads(base64.b64decode(sys.argv[1])))))"
        told = base64.b64encode(json.dumps(arguments).encode()).decode()
        return json.loads(self._client.run(self.namespace, self._pods()[-1], [self.python, "-c", program, told]))

    def _pods(self) -> list[str]:
        there: list[Any] = self._client.api.list_namespaced_pod(self.namespace).items
        return [pod.metadata.name for pod in there if pod.metadata.deletion_timestamp is None]

    def close(self) -> None:
        self._client.close()


class Administrator:
    """The cluster's administrator. Our own account may neither run programs in pods nor delete pods."""

    def __init__(self) -> None:
        from kubernetes.client.exceptions import NotFoundException

        self.NotFound = NotFoundException
        self.api = _api()

    def close(self) -> None:
        self.api.api_client.close()

    def run(self, namespace: str, pod: str, command: Sequence[str]) -> str:
        """Run the command in the engine's container. Returns what the command prints."""
        from kubernetes.stream import stream

        with ExitStack() as opened:
            api = _api()  # after this call the client of the library can only speak WebSocket
            opened.callback(api.api_client.close)
            answer = stream(
                api.connect_get_namespaced_pod_exec,
                pod,
                namespace,
                container=names.ENGINE,
                command=list(command),
                stdout=True,
                stderr=True,
                _preload_content=False,
            )
            opened.callback(answer.sock.shutdown)  # `close` leaves the socket open if the server has closed first
            opened.callback(answer.close)  # also if the pod is deleted in the meantime
            answer.run_forever(timeout=EXEC_SECONDS)
            said, complaint, code = answer.read_stdout(), answer.read_stderr(), answer.returncode
        assert code == 0, complaint
        return str(said)


def _api() -> CoreV1Api:
    from kubernetes import client, config

    given = yaml.safe_load(Path(os.environ[ADMIN_KUBECONFIG]).read_text(encoding="utf-8"))
    return client.CoreV1Api(config.new_client_from_config_dict(given))  # type: ignore[no-untyped-call]


@contextmanager
def pod_of(engine: Engine, model: ModelServer, settings: Settings) -> Iterator[ClusterPod]:
    """A pod in a namespace of its own. A cluster needs some time to delete a pod and its volume, and the next test
    does not have to wait for that.

    The process of `tests/agents/clusters/reaping.py` deletes what is left in the end.
    """
    settings.POD_EGRESS_CIDRS = [ip_network(ADDRESS)]
    cluster = ground.real_row(settings)
    with ground.observed() as runtime:
        pod = ClusterPod(engine, runtime, model)
        yield pod
        pod.close()
        connection = connections.of(cluster)
        reaping.clear(connection, ground.INSTALLATION)
        connection.close()


_numbers = itertools.count(1)
