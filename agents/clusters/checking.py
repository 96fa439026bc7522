"""Checks whether a cluster has what pods need: version, our rights, routing, storage, and a network that enforces
policies."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.db.models import F, Q
from django.utils import timezone

from agents.clusters import connections, enforcement, own_networks, policies
from agents.clusters.api.client import ApiRefused, Connection
from agents.clusters.api.place import ClusterSettings, Routing
from agents.clusters.api.rights import account_of
from agents.clusters.models import Cluster, Enforcement
from agents.runtimes.base import RuntimeFailure
from config import background
from config.crypto import UnreadableSecret

log = logging.getLogger(__name__)

Json = dict[str, Any]

OLDEST, NEWEST = 31, 37  # minor versions of Kubernetes 1
EVERY = timedelta(days=1)
SOONER = timedelta(hours=1)  # if the last check could not find out whether policies are enforced
SEEN_WITHIN = timedelta(minutes=2)

_REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_GATEWAY_API = "gateway.networking.k8s.io"
_CERT_MANAGER = "cert-manager.io"

Right = tuple[str, str, tuple[str, ...]]  # API group; resource, with its subresource if any; verbs

_LOOK = ("list",)
_MAKE = ("get", "create", "patch")
_MAKE_AGAIN = (*_MAKE, "update")
_ROUTE = (*_MAKE_AGAIN, "delete")
# What workers do with resources outside of namespaces.
RIGHTS: tuple[Right, ...] = (
    ("", "namespaces", ("get", "list", "create", "patch", "delete")),
    ("", "persistentvolumes", ("get", "list", "patch")),
    ("", "nodes", _LOOK),
    ("storage.k8s.io", "storageclasses", _LOOK),
)
# What workers do in agents' namespaces. The chart's account has these rights in a role that it binds there.
RIGHTS_INSIDE: tuple[Right, ...] = (
    ("", "resourcequotas", _MAKE_AGAIN),
    ("", "limitranges", (*_MAKE_AGAIN, "delete")),
    ("", "secrets", ("create", "patch")),
    ("", "services", _MAKE_AGAIN),
    ("", "persistentvolumeclaims", _MAKE),
    ("", "pods", _LOOK),
    ("networking.k8s.io", "networkpolicies", _MAKE_AGAIN),
    ("apps", "deployments", _MAKE_AGAIN),
)
# To find the API server itself, in the namespace `default`.
RIGHTS_TO_SERVERS: tuple[Right, ...] = (("", "services", ("get",)), ("discovery.k8s.io", "endpointslices", ("get",)))
_BIND: Right = ("rbac.authorization.k8s.io", "rolebindings", ("get", "create", "patch"))
_BIND_ROLE: Right = ("rbac.authorization.k8s.io", "clusterroles", ("bind",))
_STATS = ("", "nodes/stats", ("get",))
_STATS_THROUGH_API = ("", "nodes/proxy", ("get",))
_INGRESS = ("networking.k8s.io", "ingresses", _ROUTE)
_INGRESS_CLASSES = ("networking.k8s.io", "ingressclasses", _LOOK)
_GATEWAY = (_GATEWAY_API, "httproutes", _ROUTE)
_LISTENERS = (_GATEWAY_API, "listenersets", _ROUTE)
_CERTIFICATES = (_CERT_MANAGER, "certificates", _ROUTE)

_DEFAULT_STORAGE = "storageclass.kubernetes.io/is-default-class"
_DEFAULT_INGRESS = "ingressclass.kubernetes.io/is-default-class"


def due(now: datetime) -> int:
    """Start the check of one cluster that was never checked, or not for a day. Returns how many were started.

    A check keeps a worker's thread for up to a minute and a half, so this starts only one. It is called once a minute.
    Only clusters that the observer sees are checked.
    """
    never = Q(checked_at__isnull=True)
    unknown = Q(network_policies=Enforcement.UNKNOWN, checked_at__lt=now - SOONER)
    seen = Cluster.objects.filter(observed_at__gt=now - SEEN_WITHIN)
    late = seen.filter(never | unknown | Q(checked_at__lt=now - EVERY)).order_by(F("checked_at").asc(nulls_first=True))
    ids = list(late.values_list("pk", flat=True)[:1])
    Cluster.objects.filter(pk__in=ids).update(checked_at=now)  # so the next sweep does not start the check again
    for cluster_id in ids:
        background.on_commit("agents.check_cluster", str(cluster_id))
    return len(ids)


def check(cluster: Cluster) -> list[str]:
    """Check the cluster. Returns what is wrong, a sentence each.

    The findings are saved in the row, and so is whether the network enforces policies.
    """
    try:
        connection, place = connections.of(cluster), connections.place(cluster)
        findings = list(_findings(cluster, connection, place))
        findings += policies.renew(cluster, connection, place)
    except RuntimeFailure as failure:
        return [str(failure)]
    except UnreadableSecret as lost:
        return [lost.message]
    verdict, why = _network(connection, place)
    findings += [why] if why else []
    now = timezone.now()
    Cluster.objects.filter(pk=cluster.pk).update(network_policies=verdict, findings=findings, checked_at=now)
    return findings


def check_and_tell(cluster_id: str, *, operator: str = "") -> None:
    """Check a cluster and log the findings. If an operator asked, they also go into the cluster's history. The cluster
    may be gone by now."""
    cluster = Cluster.objects.filter(pk=cluster_id).first()
    if cluster is None:
        return
    findings = check(cluster)
    for finding in findings:
        log.warning("the check of a cluster found a problem: %s", finding, extra={"cluster": cluster.name})
    if operator:
        told = "Checked: " + (" ".join(findings) or "no problems.")
        row = Cluster.objects.filter(pk=cluster.pk)
        LogEntry.objects.log_actions(operator, row, CHANGE, change_message=told, single_object=True)


def rights(place: ClusterSettings, *, through_api: bool) -> list[Right]:
    """The rights that workers need everywhere. `through_api`: node statistics are read through the API server."""
    classes = [_INGRESS_CLASSES] if place.routes.routing == Routing.INGRESS else []
    return [*RIGHTS, _STATS_THROUGH_API if through_api else _STATS, *classes]


def rights_inside(place: ClusterSettings) -> list[Right]:
    """The rights that workers need in agents' namespaces."""
    return [*RIGHTS_INSIDE, *_routing_rights(place)]


def _findings(cluster: Cluster, connection: Connection, place: ClusterSettings) -> Iterator[str]:
    yield from _version(connection)
    yield from _rights(connection, rights(place, through_api=cluster.stats_through_api))
    yield from _rights(connection, RIGHTS_TO_SERVERS, namespace="default", name="kubernetes")
    account = account_of(connection)
    if account is None:
        yield from _rights(connection, rights_inside(place))
    else:
        yield from _rights(connection, [_BIND])
        yield from _rights(connection, [_BIND_ROLE], name=account.role)
        yield from _bounds(connection)
    yield from _routing(connection, place)
    path = "/apis/storage.k8s.io/v1/storageclasses"
    yield from _named_or_default(connection, path, place.storage_class, _DEFAULT_STORAGE, "storage class")
    yield from own_networks.reachable(connection, place, is_here=connections.is_here(cluster))


def _network(connection: Connection, place: ClusterSettings) -> tuple[Enforcement, str]:
    """Whether policies are enforced, and a sentence for the operator if they are not, or if that is unknown."""
    try:
        verdict = enforcement.find_out(connection, place)
    except (enforcement.Undecided, RuntimeFailure) as reason:
        return Enforcement.UNKNOWN, f"It is unknown whether its network enforces network policies: {reason}"
    if verdict == Enforcement.IGNORED:
        return verdict, (
            "Its network does not enforce network policies: pods can connect to each other, to the cluster and to the"
            " networks behind it. Install a network plug-in that enforces them, or place no agents of strangers here."
        )
    return verdict, ""


def _version(connection: Connection) -> Iterator[str]:
    said = connection.get("/version")
    major, minor = (int(re.sub(r"\D.*", "", str(said.get(part, ""))) or 0) for part in ("major", "minor"))
    if major != 1 or minor < OLDEST:
        yield f"Its API server is {major}.{minor}; the oldest supported version is 1.{OLDEST}."
    elif minor > NEWEST:
        yield f"Its API server is {major}.{minor}; the newest tested version is 1.{NEWEST}."


def _rights(connection: Connection, wanted: Iterable[Right], *, namespace: str = "", name: str = "") -> Iterator[str]:
    """A sentence for each missing right. Without `namespace` the right is needed in all namespaces, or for a resource
    outside of namespaces."""
    for group, resource, verbs in wanted:
        where = {"group": group, "namespace": namespace, "name": name}
        refused = [verb for verb in verbs if not _may(connection, resource, verb, where)]
        if refused:
            what = f"{resource}{f'.{group}' if group else ''}{f' {name}' if name else ''}"
            yield f"Our account may not {', '.join(refused)} {what}."


def _bounds(connection: Connection) -> Iterator[str]:
    """Whether something limits our account to agents' namespaces. It must not be allowed to make any other namespace; a
    dry run shows whether it is."""
    other = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{enforcement.PREFIX}bounds"}}
    try:
        connection.apply(other, dry=True)
    except ApiRefused as refusal:
        if refusal.status != 403:
            raise
        return
    yield (
        "Nothing limits our account to agents' namespaces: with its token, the whole cluster can be changed."
        " Upgrade the chart that made it, with hosting.admissionPolicies."
    )


def _routing_rights(place: ClusterSettings) -> list[Right]:
    certificates = [_CERTIFICATES] if place.routes.certificate_issuer else []
    match place.routes.routing:
        case Routing.GATEWAY:
            return [_GATEWAY, *([_LISTENERS, *certificates] if certificates else [])]
        case Routing.INGRESS:
            return [_INGRESS, *certificates]
        case Routing.NONE:
            return []


def _may(connection: Connection, resource: str, verb: str, where: Mapping[str, str]) -> bool:
    plural, _, below = resource.partition("/")
    asked = {**where, "resource": plural, "verb": verb, **({"subresource": below} if below else {})}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": asked},
    }
    return bool(connection.post(_REVIEW, review)["status"].get("allowed"))


def _routing(connection: Connection, place: ClusterSettings) -> Iterator[str]:
    for group, kind, _ in _routing_rights(place):
        if group != "networking.k8s.io" and kind not in _served(connection, f"/apis/{group}/v1"):
            yield f"It does not serve {kind} of {group}/v1: install them, or choose other routing."
    if place.routes.routing == Routing.INGRESS:
        path = "/apis/networking.k8s.io/v1/ingressclasses"
        yield from _named_or_default(connection, path, place.routes.ingress_class, _DEFAULT_INGRESS, "ingress class")


def _served(connection: Connection, path: str) -> set[str]:
    found = connection.find(path)
    return {resource["name"] for resource in found["resources"]} if found else set()


def _named_or_default(connection: Connection, path: str, name: str, default: str, kind: str) -> Iterator[str]:
    try:
        classes = [one["metadata"] for one in connection.get(path)["items"]]
    except ApiRefused as refusal:
        if refusal.status != 403:
            raise
        return  # the missing right is reported already
    if name and name not in {one["name"] for one in classes}:
        yield f"It has no {kind} {name}."
    if not name and not any((one.get("annotations") or {}).get(default) == "true" for one in classes):
        yield f"It has no default {kind}: name one."
