"""A token of the chart's accounts allows making pods of agents, and nothing else in a cluster.

These tests run on the double, and with `make test-cluster` on a real API server. All requests are dry runs (`dryRun`):
if the server accepts one, the test fails.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agents.clusters.api import ending, names, rights
from agents.clusters.api.client import ApiRefused, Connection, path_of
from tests.agents.clusters import ground, reaping
from tests.agents.clusters.escalations import (
    ESCALATIONS,
    HOME,
    LABELS,
    POWERS,
    SERVICE,
    SYSTEM,
    SYSTEMS,
    VOLUMES,
    Json,
    a,
    applied,
    certificate,
    deployment,
    listener,
    namespace,
    posted,
    route,
)
from tests.agents.clusters.ground import is_real
from tests.agents.clusters.reaping import ADMIN_KUBECONFIG, KUBECONFIG
from tests.deploy import chart
from tests.doubles.kube_api import KubeApi

pytestmark = pytest.mark.unmeasured


WRITERS = ["real"] if is_real else ["drive", "remote"]
PROXY = "/api/v1/nodes/node/proxy"
ACCOUNTS = ["real"] if is_real else ["drive", "observe", "remote"]


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeApi | None]:
    if is_real:
        yield None
        return
    with KubeApi(tmp_path_factory.mktemp("cluster")) as api:
        api.install(chart.accounts())
        api.install(chart.accounts(remote=True))
        for foreign in [*SYSTEMS, *VOLUMES.values()]:
            api.put(foreign["kind"], foreign)
        yield api


@pytest.fixture(scope="module", autouse=True)
def foreign() -> Iterator[None]:
    """On a real cluster, make the volumes that the tests try to change, if there is an administrator's kubeconfig."""
    if is_real:
        reaping.after_us(ground.INSTALLATION)
    if not is_real or ADMIN_KUBECONFIG not in os.environ:
        yield
        return
    given = Path(os.environ[ADMIN_KUBECONFIG]).read_text(encoding="utf-8")
    with contextlib.closing(Connection("administrator", given)) as admin:
        for one in VOLUMES.values():
            admin.delete(path_of(one))
            _until_gone(admin, path_of(one))
            admin.apply(one)
            status = one.get("status")
            if status:
                admin.merge(f"{path_of(one)}/status", {"status": status})
        yield
        for one in VOLUMES.values():
            admin.delete(path_of(one))


def _until_gone(connection: Connection, path: str) -> None:
    until = time.monotonic() + ground.GONE_SECONDS
    while connection.find(path) is not None and time.monotonic() < until:
        time.sleep(0.2)


@pytest.fixture
def connected(double: KubeApi | None) -> Iterator[Callable[[str], Connection]]:
    """`connected(account)`: a connection with the token of this account of the chart."""
    with contextlib.ExitStack() as stack:

        def connect(account: str) -> Connection:
            real = Path(os.environ[KUBECONFIG]).read_text(encoding="utf-8") if is_real else None
            shown = double.kubeconfig(chart.username(account)) if double else real
            return stack.enter_context(contextlib.closing(Connection("asked", shown)))

        yield connect


@pytest.fixture
def writer(request: pytest.FixtureRequest, connected: Callable[[str], Connection]) -> Iterator[Connection]:
    connection = connected(request.param)
    home = f"/api/v1/namespaces/{HOME}"
    if is_real and "deletionTimestamp" in (connection.find(home) or {"metadata": ()})["metadata"]:
        ending.wait_until_gone(connection, HOME, until=time.monotonic() + ground.GONE_SECONDS)
    connection.apply(namespace(HOME))
    rights.Inside(connection, HOME, labels=LABELS).apply(deployment())
    yield connection
    if is_real:
        connection.delete(home)
        ending.wait_until_gone(connection, HOME, until=time.monotonic() + ground.GONE_SECONDS)


@pytest.mark.parametrize("writer", WRITERS, indirect=True)
def test_a_worker_can_only_make_pods_of_agents(writer: Connection, subtests: pytest.Subtests) -> None:
    for what, deed in ESCALATIONS.items():
        with subtests.test(what):
            with pytest.raises(ApiRefused) as refused:
                deed(writer)
            if refused.value.status == 404 and is_real and ADMIN_KUBECONFIG not in os.environ:
                pytest.skip(f"nobody has made it: {ADMIN_KUBECONFIG} names no administrator")
            assert refused.value.status == 403, refused.value


@pytest.mark.parametrize("writer", WRITERS, indirect=True)
def test_what_agents_pods_are_made_of_can_be_made(writer: Connection) -> None:
    """Without this, the test before would prove nothing."""
    for deed in (
        applied(namespace(HOME)),
        applied(deployment()),
        applied(a("Secret", type="Opaque")),
        applied(a("Service", spec=SERVICE)),
        posted(namespace("pod-other-1")),
        applied(route(["one.example"])),
        applied(listener(hostname="one.example")),
        applied(certificate(dnsNames=["one.example"])),
        applied(deployment(container={"livenessProbe": {"httpGet": {"port": 8080, "path": "/healthz"}}})),
    ):
        deed(writer)


@pytest.mark.parametrize("account", ACCOUNTS)
def test_no_account_has_a_right_by_which_it_gets_others(account: str, connected: Callable[[str], Connection]) -> None:
    connection = connected(account)
    places = ("", "kube-system", SYSTEM, "default", HOME)
    assert [(power, place) for power in POWERS for place in places if may(connection, *power, place)] == []


def may(connection: Connection, verb: str, group: str, resource: str, place: str) -> bool:
    plural, _, below = resource.partition("/")
    asked = {"verb": verb, "group": group, "resource": plural, "subresource": below, "namespace": place}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    return bool(connection.post(path, {**review, "spec": {"resourceAttributes": asked}})["status"].get("allowed"))


@pytest.mark.skipif(is_real, reason="of a real cluster, one account is given")
def test_an_observer_changes_nothing_at_all(connected: Callable[[str], Connection]) -> None:
    connection, accepted = connected("observe"), []
    for what, deed in ESCALATIONS.items():
        with contextlib.suppress(ApiRefused):
            deed(connection)
            accepted.append(what)
    for deed in (applied(namespace("pod-other-1")), applied(deployment()), posted(namespace("pod-other-1"))):
        with pytest.raises(ApiRefused):
            deed(connection)
    assert accepted == []


@pytest.mark.skipif(is_real, reason="the chart that was installed there asks nodes themselves")
def test_by_way_of_the_api_server_nodes_are_asked_for_statistics_and_nothing_else(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    with KubeApi(tmp_path / "cluster") as api:
        api.install(chart.accounts(values={"hosting": {"statsThroughApi": True}}))
        with contextlib.closing(Connection("asked", api.kubeconfig(chart.username("drive")))) as connection:
            assert connection.get(f"{PROXY}/stats/summary")["node"]["nodeName"] == "node"
            for path in ("pods", "logs/stats/summary", "run/kube-system/one/two/../stats/summary", "stats/summary/x"):
                with subtests.test(path), pytest.raises(ApiRefused) as refused:
                    connection.get(f"{PROXY}/{path}")
                assert refused.value.status == 403


@pytest.mark.parametrize("writer", WRITERS[:1], indirect=True)
def test_a_secret_of_an_agent_is_rewritten_by_nobody_but_its_account(
    writer: Connection, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """Nobody may read Secrets, so nobody would notice a rewritten one. A deleted one is noticed."""
    with administrator(tmp_path) as (account, admin):
        inside, secret = rights.Inside(account, HOME, labels=LABELS), a("Secret", type="Opaque", data={"key": "b25l"})
        path = path_of(secret)
        inside.apply(secret)
        changes: dict[str, Json] = {
            "its contents": {"data": {"key": "dHdv"}},
            "no contents": {"data": None},
            "more contents": {"data": {"other": "dHdv"}},
            "for ever": {"immutable": True},
            "nobody's any more": {"metadata": {"labels": {names.INSTALLATION_LABEL: None}}},
        }
        for what, change in changes.items():
            with subtests.test(what), pytest.raises(ApiRefused, match="written by Agentpods alone") as refused:
                admin.merge(path, change)
            assert refused.value.status == 403
        admin.merge(path, {"metadata": {"annotations": {"example.com/seen": "yes"}}})
        inside.apply({**secret, "data": {"key": "dHdv"}})
        assert (admin.get(path)["data"], admin.get(path)["metadata"]["annotations"]) == (
            {"key": "dHdv"},
            {"example.com/seen": "yes"},
        )
        admin.delete(path)
        assert admin.find(path) is None


@contextlib.contextmanager
def administrator(directory: Path) -> Iterator[tuple[Connection, Connection]]:
    """The account that makes agents' Secrets, and an administrator, on a cluster with one release of the chart."""
    if is_real:
        if ADMIN_KUBECONFIG not in os.environ:
            pytest.skip(f"{ADMIN_KUBECONFIG} names no administrator")
        shown = [Path(os.environ[one]).read_text(encoding="utf-8") for one in (KUBECONFIG, ADMIN_KUBECONFIG)]
        with (
            contextlib.closing(Connection("account", shown[0])) as account,
            contextlib.closing(Connection("administrator", shown[1])) as admin,
        ):
            yield account, admin
        return
    with KubeApi(directory / "cluster") as api:
        api.install(chart.accounts())
        with (
            contextlib.closing(Connection("account", api.kubeconfig(chart.username("drive")))) as account,
            contextlib.closing(Connection("administrator", api.kubeconfig())) as admin,
        ):
            account.apply(namespace(HOME))
            yield account, admin
