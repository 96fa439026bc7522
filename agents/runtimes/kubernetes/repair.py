"""Putting back what somebody has changed or taken away of a pod's objects, and nothing else of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.runtimes.base import PodSpec
from agents.runtimes.kubernetes import kept, manifests, names, network
from agents.runtimes.kubernetes.client import path_of
from agents.runtimes.kubernetes.kept import Digests
from agents.runtimes.kubernetes.place import Place
from agents.runtimes.kubernetes.rights import Inside

Json = dict[str, Any]

# What applying makes whole again: nobody else's field of theirs counts.
_APPLIED_ALONE = {"Namespace", "RoleBinding", "Secret"}


class Repair:
    """`kept` and `seen` are digests as the driver noted and the observer saw them. Afterwards `digests` are to be kept,
    and `told` says in a few words what was put back, by the key of each object."""

    def __init__(self, inside: Inside, *, kept: Digests, seen: Digests) -> None:
        self._inside, self._kept, self._seen = inside, kept, seen
        self._strays = {key for key, digest in kept.items() if seen.get(key) != digest}
        self.digests: Digests = {}
        self.told: dict[str, str] = {}

    def put_back(self, spec: PodSpec, place: Place) -> None:
        """Everything but claim and workload, in the order of a deploy; and the workload if it strayed or is of today.

        A workload that an earlier release has made stays as it is: putting objects back starts no pod anew.
        """
        self._note(self._namespace(manifests.namespace(spec, place)))
        for binding in self._inside.bind():
            self._note(binding)
        routes = [*network.routes(spec, place), *network.domain_objects(spec, place)]
        for manifest in [*manifests.before_workload(spec, place), *routes]:
            self._note(self._made_again(manifest))
        self._workload(manifests.deployment(spec, place))

    def _workload(self, wanted: Json) -> None:
        key = kept.key(wanted)
        found = self._inside.find(path_of(wanted))
        if found is None:
            return  # without it the agent is not running: it is built again as a whole
        if key in self._strays or _hash(found) == _hash(wanted):
            self._note(self._made_again(wanted))
        elif key in self._kept:
            self.digests[key] = self._kept[key]

    def _made_again(self, manifest: Json) -> Json:
        """Applying it leaves what others have added, so what has strayed is replaced first."""
        key = kept.key(manifest)
        changed = key in self._strays and key in self._seen and manifest["kind"] not in _APPLIED_ALONE
        if changed and (found := self._inside.find(path_of(manifest))):
            version = {"resourceVersion": found["metadata"]["resourceVersion"], "managedFields": [{}]}
            self._inside.replace({**manifest, "metadata": {**manifest["metadata"], **version}})
        return self._inside.apply(manifest)

    def _namespace(self, manifest: Json) -> Json:
        """With none of somebody else's labels that weaken what pods may be.

        In one change: the admission policy refuses every one after which the namespace is still weakened.
        """
        connection, path, key = self._inside.connection, path_of(manifest), kept.key(manifest)
        if key in self._strays and (found := connection.find(path)):
            ours, labels = manifest["metadata"]["labels"], found["metadata"].get("labels") or {}
            others = [label for label in labels if label.startswith(kept.POD_SECURITY) and label not in ours]
            if others:
                connection.merge(path, {"metadata": {"labels": {**ours, **dict.fromkeys(others)}}})
        return connection.apply(manifest)

    def _note(self, applied: Mapping[str, Any]) -> None:
        self.digests |= kept.of(applied)
        key = kept.key(applied)
        if key in self._strays and self._seen.get(key) != self.digests.get(key):
            self.told[key] = f"{key} was {'changed' if key in self._seen else 'gone'}"


def _hash(workload: Json) -> object:
    return (workload["metadata"].get("annotations") or {}).get(names.HASH_ANNOTATION)
