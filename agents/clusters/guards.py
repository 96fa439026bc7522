"""What else the observer watches of a cluster: objects that must stay as the driver told them to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agents.clusters import objects
from agents.clusters.watching import Kind, Watch, guarded
from agents.runtimes.kubernetes.place import Routes, Routing

_ALWAYS = {
    "NetworkPolicy": guarded("NetworkPolicy", "networking.k8s.io/v1", "networkpolicies"),
    "Service": guarded("Service", "v1", "services"),
    "ResourceQuota": guarded("ResourceQuota", "v1", "resourcequotas"),
    "LimitRange": Kind("/api/v1/limitranges", "LimitRangeList", objects.keep_limits),
    "PersistentVolume": Kind("/api/v1/persistentvolumes", "PersistentVolumeList", objects.keep_volume),
    "PersistentVolumeClaim": guarded("PersistentVolumeClaim", "v1", "persistentvolumeclaims"),
    "RoleBinding": guarded("RoleBinding", "rbac.authorization.k8s.io/v1", "rolebindings"),
}
# The account of a chart of an older release may not watch these.
_WHERE_ALLOWED = {"PersistentVolumeClaim"}
_INGRESS = {"Ingress": guarded("Ingress", "networking.k8s.io/v1", "ingresses")}
_ROUTE = {"HTTPRoute": guarded("HTTPRoute", "gateway.networking.k8s.io/v1", "httproutes")}
_LISTENERS = {"ListenerSet": guarded("ListenerSet", "gateway.networking.k8s.io/v1", "listenersets")}
_CERTIFICATES = {"Certificate": guarded("Certificate", "cert-manager.io/v1", "certificates")}


def kinds(routes: Routes) -> dict[str, Kind]:
    """By their names, as the cluster's routing has them."""
    certificates = _CERTIFICATES if routes.certificate_issuer else {}
    match routes.routing:
        case Routing.GATEWAY:
            listeners = _LISTENERS if certificates else {}
            return {**_ALWAYS, **_ROUTE, **listeners, **certificates}
        case Routing.INGRESS:
            return {**_ALWAYS, **_INGRESS, **certificates}
        case Routing.NONE:
            return dict(_ALWAYS)


class Guards:
    """Their watches. None of them says that a cluster is well: pods are observed where these kinds may not be."""

    def __init__(self, routes: Routes, watch: Callable[[Kind], Watch]) -> None:
        self.watches: Mapping[str, Watch] = {name: watch(kind) for name, kind in kinds(routes).items()}

    def digests(self, namespace: str, *, before: Mapping[str, str]) -> dict[str, str] | None:
        """By `Kind/name`; None as long as not all that is there is known. What may not be watched is as it was."""
        if not self._is_complete():
            return None
        unknown = {kind for kind in _WHERE_ALLOWED if not self.watches[kind].is_complete}
        return {key: digest for key, digest in before.items() if key.partition("/")[0] in unknown} | {
            f"{kind}/{one['metadata']['name']}": one["digest"]
            for kind, watch in self.watches.items()
            for one in watch.of(namespace)
        }

    def secrets(self, namespace: str) -> dict[str, str] | None:
        """Identities of the Secrets that are there, by `Secret/name`; None as long as that is not known."""
        if not self._is_complete():
            return None
        return {key: uid for one in self.watches["LimitRange"].of(namespace) for key, uid in one["secrets"].items()}

    def _is_complete(self) -> bool:
        return all(watch.is_complete for kind, watch in self.watches.items() if kind not in _WHERE_ALLOWED)
