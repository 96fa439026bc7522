"""What else the observer watches in a cluster: the objects that must stay as the driver made them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agents.clusters import objects
from agents.clusters.api.place import Routes, Routing
from agents.clusters.watching import Watch, WatchedKind, guarded

_ALWAYS = {
    "NetworkPolicy": guarded("NetworkPolicy", "networking.k8s.io/v1", "networkpolicies"),
    "Service": guarded("Service", "v1", "services"),
    "ResourceQuota": guarded("ResourceQuota", "v1", "resourcequotas"),
    "LimitRange": WatchedKind("/api/v1/limitranges", "LimitRangeList", objects.keep_limits),
    "PersistentVolume": WatchedKind("/api/v1/persistentvolumes", "PersistentVolumeList", objects.keep_volume),
    "PersistentVolumeClaim": guarded("PersistentVolumeClaim", "v1", "persistentvolumeclaims"),
    "RoleBinding": guarded("RoleBinding", "rbac.authorization.k8s.io/v1", "rolebindings"),
}
# The account of an older release's chart may not watch these.
_WHERE_ALLOWED = {"PersistentVolumeClaim"}
_INGRESS = {"Ingress": guarded("Ingress", "networking.k8s.io/v1", "ingresses")}
_ROUTE = {"HTTPRoute": guarded("HTTPRoute", "gateway.networking.k8s.io/v1", "httproutes")}
_LISTENERS = {"ListenerSet": guarded("ListenerSet", "gateway.networking.k8s.io/v1", "listenersets")}
_CERTIFICATES = {"Certificate": guarded("Certificate", "cert-manager.io/v1", "certificates")}


def kinds(routes: Routes) -> dict[str, WatchedKind]:
    """The kinds to watch, by their names, for the cluster's way of routing."""
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
    """The watches of these objects. A cluster counts as healthy without them: where they are not allowed, pods are
    observed all the same."""

    def __init__(self, routes: Routes, watch: Callable[[WatchedKind], Watch]) -> None:
        self.watches: Mapping[str, Watch] = {name: watch(kind) for name, kind in kinds(routes).items()}

    def digests(self, namespace: str, *, before: Mapping[str, str]) -> dict[str, str] | None:
        """Digests of the namespace's objects by `Kind/name`. None until all watches are complete. Kinds that may not be
        watched keep their value of `before`."""
        if not self._is_complete():
            return None
        unknown = {kind for kind in _WHERE_ALLOWED if not self.watches[kind].is_complete}
        return {key: digest for key, digest in before.items() if key.partition("/")[0] in unknown} | {
            f"{kind}/{one['metadata']['name']}": one["digest"]
            for kind, watch in self.watches.items()
            for one in watch.of(namespace)
        }

    def secrets(self, namespace: str) -> dict[str, str] | None:
        """The uids of the Secrets that exist, by `Secret/name`. None until they are known."""
        if not self._is_complete():
            return None
        return {key: uid for one in self.watches["LimitRange"].of(namespace) for key, uid in one["secrets"].items()}

    def _is_complete(self) -> bool:
        return all(watch.is_complete for kind, watch in self.watches.items() if kind not in _WHERE_ALLOWED)
