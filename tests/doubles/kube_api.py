"""A Kubernetes cluster on loopback: an API server that speaks the real protocol, its controllers, and nodes.

It checks the published schemas and the API's own rules (server-side apply, versions, finalizers, quotas, pod security,
watches). So a driver that works against it makes no request that the real server would refuse by these rules.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.doubles.certificates import Certificates
from tests.doubles.kube import access, controllers, copying, node
from tests.doubles.kube.access import ClusterAccess
from tests.doubles.kube.api import Api
from tests.doubles.kube.cluster import ClusterDouble, PodUsage, Settings
from tests.doubles.kube.kubelet import Kubelets
from tests.doubles.kube.objects import first_objects
from tests.doubles.kube.policies import Policies
from tests.doubles.kube.registry import Registry
from tests.doubles.kube.resources import BY_KIND, Object
from tests.doubles.kube.server import Server
from tests.doubles.kube.store import Store
from tests.doubles.kube.trouble import SCRIPTS, ApiFault, Troubles
from tests.doubles.kube.watch import Watches

_BY_LOWER_NAME = {
    **{resource.kind.lower(): resource.kind for resource in BY_KIND.values()},
    **{resource.plural: resource.kind for resource in BY_KIND.values()},
}
HELD = "example.com/held"
_PAUSE = 0.005
_ASKED_AGAIN = 0.25  # also when no object changed


class KubeApi:
    """`with KubeApi(tmp_path) as cluster:` starts the cluster, with one node named `node`.

    With `run=True` the node runs pods as processes (`tests/doubles/kube/world.py` explains how); otherwise pods simply
    become ready. `engines` is the directory /opt/engines of the images. Kinds may be written as in manifests ("Pod"),
    in lower case or in plural.

    - Accounts: `kubeconfig(account)`, and `allow(account, rules)` with rules of a ClusterRole; without rules an account
      may do everything.
    - Looking: `objects`, `get`, `writes`, `requests` (counts since the start), `put` and `copy` (without
      validation), `directory_of` (the files of a PersistentVolume), `log_of` (a container's output), `wait(condition)`.
    - Faults of the server: `fail`, `cut_watches`, `stale`/`fresh`, `compact`, `stop`/`start`.
    - Faults of pods: `script(namespace, what)` with image, unschedulable, crash, oom, evicted, evicted-silently, volume
      (its provisioning), mount, or slow (new pods stay in creation without any message); None ends them. `kill`;
      `finalizer` and `drop_finalizer`; `use`; `add_node`, `lose_node`, `find_node`.
    """

    def __init__(
        self,
        directory: Path,
        *,
        run: bool = False,
        engines: Path | None = None,
        nodes: int = 1,
        probe_seconds: float | None = None,
        crash_seconds: float = 0.2,
        eviction_seconds: float = 0.5,
        bookmark_seconds: float = 60.0,
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._certificates = Certificates(directory)
        tls = self._certificates.server("127.0.0.1")
        settings = Settings(
            directory=directory,
            run=run,
            engines=engines,
            probe_seconds=probe_seconds,
            crash_seconds=crash_seconds,
            eviction_seconds=eviction_seconds,
        )
        self._cluster = ClusterDouble(Registry(Store()), Troubles(), settings)
        self._store, self._registry = self._cluster.store, self._cluster.registry
        self._access = ClusterAccess(objects=self._store.all)
        self._policies = Policies(self._access)
        self._api = Api(self._registry, self._access, self._policies)
        self._watches = Watches(self._store, bookmark_seconds)
        self._kubelets = Kubelets(self._cluster, self._access, tls)
        self._server = Server(self._api, self._cluster.troubles, self._watches, tls, self._kubelets.document)
        self._controllers = controllers.Controllers(self._cluster)
        for kind, obj in first_objects():
            self._store.put(kind, obj)
        self._nodes = [f"node-{number}" if number else "node" for number in range(nodes)]

    def settle_rights(self, seconds: float) -> None:
        """From now on, a binding counts only this many seconds after the first call that needs it."""
        self._access.settle_seconds = seconds

    def __enter__(self) -> Self:
        self._server.start()
        for name in self._nodes:
            self.add_node(name)
        self._controllers.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop()
        self._controllers.stop()
        node.end_all(self._cluster)
        self._kubelets.stop()

    # Accounts.

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._server.port}"

    def kubeconfig(self, account: str = access.ADMIN) -> str:
        authority = self._certificates.authority.read_bytes()
        shown = {"token": self._access.token(account)}
        return access.kubeconfig(server=self.url, authority=authority, account=account, shown=shown)

    def kubeconfig_with_certificate(self, account: str) -> str:
        authority = self._certificates.authority.read_bytes()
        certificate, key = (base64.b64encode(part).decode() for part in self._certificates.client(account))
        shown = {"client-certificate-data": certificate, "client-key-data": key}
        return access.kubeconfig(server=self.url, authority=authority, account=account, shown=shown)

    def allow(self, account: str, rules: list[Object]) -> None:
        self._access.rules[account] = rules

    def install(self, objects: list[Object]) -> None:
        """Install the accounts, rights and policies of a rendered chart."""
        self._access.install(objects)
        self._policies.install(objects)
        for binding in (one for one in objects if one["kind"] == "RoleBinding"):
            self.put("RoleBinding", binding)

    # Looking.

    @property
    def requests(self) -> int:
        return self._server.requests

    @property
    def writes(self) -> int:
        return self._server.writes

    @property
    def version(self) -> int:
        """The version of the last change of any object. It does not change while nothing happens."""
        return self._store.version

    def objects(self, kind: str, namespace: str | None = None) -> list[Object]:
        return self._store.all(_kind(kind), namespace or "")

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        return self._store.get(_kind(kind), namespace or "", name)

    def put(self, kind: str, obj: Object) -> Object:
        return self._registry.put(BY_KIND[_kind(kind)], obj)

    def copy(self, word: str, others: Iterable[Mapping[str, str]]) -> None:
        """Copy all objects that contain `word`, once for each mapping from words to those of the copy."""
        copying.copy(self._store, word, others)

    def directory_of(self, volume: str) -> Path:
        return self._cluster.volume_directory(volume)

    def log_of(self, namespace: str, container: str) -> str:
        """The output of a container that runs as a process."""
        runs = self._cluster.pods.get(namespace, {})
        logs = [run.directory / f"{container}.log" for run in runs.values()]
        return "".join(log.read_text(encoding="utf-8") for log in logs if log.exists())

    def wait(self, condition: Callable[[], object], *, seconds: float = 20.0) -> None:
        """Wait until the condition holds, checking after changes. Raises AssertionError after `seconds`."""
        until = time.monotonic() + seconds
        while not condition():
            left = until - time.monotonic()
            if left <= 0:
                raise AssertionError(f"not so after {seconds} s")
            with self._store.changed:
                self._store.changed.wait(min(left, _ASKED_AGAIN))
            time.sleep(_PAUSE)

    # Faults of the server.

    def fail(
        self,
        method: str = "*",
        path_contains: str = "",
        status: int | None = 500,
        times: int = 1,
        delay: float = 0.0,
        retry_after: int | None = None,
    ) -> None:
        """Make the next `times` matching requests fail (-1: all, until `heal`). `status` 0 drops the connection; None
        only delays.

        The paths of a kubelet begin with `/kubelet/<node>`.
        """
        fault = ApiFault(method, path_contains, status, times, delay, retry_after)
        with self._cluster.troubles.lock:
            self._cluster.troubles.faults.append(fault)

    def heal(self) -> None:
        with self._cluster.troubles.lock:
            self._cluster.troubles.faults.clear()

    def cut_watches(self, silently: bool = False) -> None:
        """Close all streams, or leave them open and never send anything again."""
        self._watches.cut(silently=silently)

    @property
    def watching(self) -> int:
        """How many streams are open, have a client and are not mute."""
        return self._watches.count()

    def stale(self) -> None:
        """From now on, lists answer with the state of this moment, until `fresh`."""
        self._api.stale = self._store.snapshot()

    def fresh(self) -> None:
        self._api.stale = None

    def compact(self, as_event: bool = False) -> None:
        """Older versions are now too old for watches: 410 as the answer's status or in an event. Open watches end."""
        self._watches.expires_by_event = as_event
        self._store.compact()
        if as_event:
            self._watches.expire()

    def stop(self) -> None:
        """Stop the server and close all connections. Controllers and nodes continue."""
        self._server.stop()

    def start(self) -> None:
        """Start the server again on the same port."""
        self._server.start()

    # Faults of pods.

    def script(self, namespace: str, what: str | None) -> None:
        """Set a fault for the namespace's pods, from now on. None ends all faults."""
        if what is not None and what not in SCRIPTS:
            raise ValueError(f"{what} is none of {sorted(SCRIPTS)}")
        scripts = self._cluster.troubles.scripts
        if what is None:
            scripts.pop(namespace, None)
        else:
            scripts[namespace].add(what)
        self._cluster.touch(namespace)

    def kill(self, namespace: str, container: str, *, oom: bool = False) -> None:
        """Send SIGKILL to all processes of a running container; `oom`: as the kernel does when memory is used up."""
        node.kill(self._cluster, namespace, container, oom=oom)

    def finalizer(self, namespace: str, on: str = "pod", name: str = HELD) -> None:
        """Objects of this kind in the namespace, or the namespace itself, stay until `drop_finalizer`."""

        def revision(obj: Object) -> Object:
            finalizers = [*obj["metadata"].get("finalizers", []), name]
            return {**obj, "metadata": {**obj["metadata"], "finalizers": finalizers}}

        self._revise_all(namespace, _kind(on), revision)

    def drop_finalizer(self, namespace: str, on: str = "pod", name: str = HELD) -> None:
        def revision(obj: Object) -> Object:
            finalizers = [found for found in obj["metadata"].get("finalizers", []) if found != name]
            return {**obj, "metadata": {**obj["metadata"], "finalizers": finalizers}}

        self._revise_all(namespace, _kind(on), revision)

    def _revise_all(self, namespace: str, kind: str, revision: Callable[[Object], Object]) -> None:
        if kind == "Namespace":
            self._registry.revise(kind, "", namespace, revision)
            return
        for obj in self._store.all(kind, namespace):
            self._registry.revise(kind, namespace, obj["metadata"]["name"], revision)

    def use(self, namespace: str, *, memory_bytes: int | None = None, disk_bytes: int | None = None) -> None:
        """Set the memory and disk use (bytes) in `stats/summary` of the namespace's pod, not the measured values."""
        self._cluster.usage[namespace] = PodUsage(memory_bytes, disk_bytes)

    def add_node(
        self,
        name: str,
        *,
        labels: dict[str, str] | None = None,
        cpu: str = "1000",
        memory: str = "4Ti",
        pods: int = 2000,
    ) -> None:
        port = self._kubelets.open(name)
        found = node.new(name, port=port, labels=labels or {}, cpu=cpu, memory=memory, pods=pods)
        self._registry.put(BY_KIND["Node"], found)

    def lose_node(self, name: str) -> None:
        """The node stops answering: its pods are evicted after `eviction_seconds`, and nobody confirms their end."""
        self._kubelets.close(name)
        node.lose(self._cluster, name)

    def find_node(self, name: str) -> None:
        found = self._store.get("Node", "", name)
        if found:
            self._kubelets.open(name, found["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"])
            node.find(self._cluster, name)


def _kind(name: str) -> str:
    return name if name in BY_KIND else _BY_LOWER_NAME[name.lower()]
