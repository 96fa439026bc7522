"""Restores those objects of a pod that somebody has changed or removed, and leaves all others alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from agents.clusters.api import digests, names, network, volumes
from agents.clusters.api.client import ApiRefused, Connection, path_of
from agents.clusters.api.digests import Digests
from agents.clusters.api.place import ClusterSettings
from agents.clusters.api.rights import Inside
from agents.runtimes.base import PodSpec
from agents.runtimes.kubernetes import manifests

Json = dict[str, Any]

# Our account can read and write these without a right that it must first give to itself. Applying them is enough to
# restore them: fields that others have added do not matter, except for labels that weaken a namespace.
_OUTSIDE = {"Namespace", "RoleBinding"}
_CLAIM = {"kind": "PersistentVolumeClaim", "metadata": {"name": names.CLAIM}}
# If an object changes between reading and writing it, it is read again, at most this often.
TRIES = 4
_OTHERWISE_BY_NOW = {404, 409}

Note = Callable[[str], None]


class Repair:
    """Restores the objects of one pod. `kept` are the digests that the driver noted, and `seen` those that the observer
    saw. Afterwards, note `digests` in place of `kept`.
    Each object is read once more, so that a change after the observer's look is reported too. `note` is called from any
    thread, with a few words about a change, before the object is restored. So a repair that fails half way, or whose
    worker is killed, has reported the change all the same. `unfounded` are reported words that turned out to be wrong,
    because the object was in fact unchanged.
    """

    def __init__(self, inside: Inside, *, kept: Digests, seen: Digests, note: Note) -> None:
        self._inside, self._kept, self._seen, self._note = inside, kept, seen, note
        self.digests: Digests = {}
        self.unfounded: set[str] = set()

    def put_back(self, spec: PodSpec, place: ClusterSettings) -> None:
        """Restore all objects except the claim, in the order of a deploy. The workload is restored only if it was
        changed, or if this release would deploy the same one.
        A workload of an older release stays as it is, because a repair must not restart a pod.
        """
        self._made_again(manifests.namespace(spec, place))
        self._rights()
        routes = [*network.routes(spec, place), *network.domain_objects(spec, place)]
        wanted = [*manifests.before_workload(spec, place), *routes]
        self._inside.connection.at_once([partial(self._made_again, manifest) for manifest in wanted])
        self._made_again(manifests.limits(spec, place, secrets=digests.secrets(self.digests)))
        self._workload(manifests.deployment(spec, place))

    def keep_claim(self, claim: Callable[[Json | None], Json]) -> None:
        """Restore the claim. `claim` gets the existing claim or None; then it makes a new one on the volume of the last
        one.
        An observer of an older release does not report claims, so only the claim that is read here counts.
        """
        if digests.CLAIM in self._seen:  # what somebody changes before the first note is put back, not noted
            self._kept = {digests.CLAIM: digests.digest(self._inside.labelled(_CLAIM)), **self._kept}
        known = volumes.claim_of(self._inside)
        befores = [digests.digest(known) if known else None]
        suspected = self._suspect(_CLAIM, befores)
        found = claim(known)
        if self._strays(digests.CLAIM, [digests.digest(found)]):
            found = self._inside.label(path_of(found))
        self._done(found, befores, suspected)
        if digests.CLAIM in {*self._kept, *self._seen}:
            self.digests[digests.CLAIM] = digests.digest(found)

    def keep_volume(self, labels: dict[str, str]) -> None:
        """Keep the volume, so that the agent's files stay, whatever happens to the namespace."""
        if found := volumes.bound(self._inside):
            befores = [self._seen.get(digests.key(found)), digests.digest(found)]
            suspected = self._suspect(found, befores)
            self._done(volumes.keep(self._inside.connection, found, labels=labels), befores, suspected)

    def _rights(self) -> None:
        binding = self._inside.binding()
        if binding is None:
            return
        try:
            self._made_again(binding)
        except ApiRefused as refusal:
            if not refusal.lacks_rights:  # an older chart's account has its rights by itself and needs no binding
                raise

    def _workload(self, wanted: Json) -> None:
        key = digests.key(wanted)
        found = self._inside.find(path_of(wanted))
        if found is None:
            return  # without a workload the agent does not run, and the whole pod is built again
        if self._strays(key, [self._seen.get(key), digests.digest(found)]) or _hash(found) == _hash(wanted):
            self._made_again(wanted)
        elif key in self._kept:
            self.digests[key] = self._kept[key]

    def _made_again(self, manifest: Json) -> None:
        """Apply the object in the version that was read, so that no change in between is overwritten unseen.
        The last try accepts any version, because the status of busy objects changes all the time.
        """
        if manifest["kind"] == "Secret":
            self._written_again(manifest)
            return
        befores = [self._seen.get(digests.key(manifest))]
        for left in reversed(range(TRIES)):
            found, is_known = self._look(manifest)
            if is_known:
                befores.append(digests.digest(found) if found else None)
            suspected = self._suspect(manifest, befores)
            try:
                applied = self._put(manifest, found, in_its_version=left > 0)
            except ApiRefused as refusal:
                if refusal.status not in _OTHERWISE_BY_NOW or not left:
                    raise
                continue
            if found and left == 0 and found["metadata"]["uid"] != applied["metadata"]["uid"]:
                # it was deleted after the last read; in the tries before, this would have been a conflict
                befores.append(None)
            self._done(applied, befores, suspected)
            return

    def _written_again(self, secret: Json) -> None:
        """Write a Secret, which is never read. The uid in the answer shows whether the Secret had been replaced or
        deleted.
        """
        key = digests.key(secret)
        suspected = self._suspect(secret, [self._seen.get(key)])
        applied = self._inside.apply(secret)
        is_other = self._kept.get(key) != digests.digest(applied)
        self._done(applied, [None] if is_other else [], suspected)

    def _look(self, manifest: Json) -> tuple[Json | None, bool]:
        """The current object, and whether it is known: False if our account may not read it."""
        try:
            return self._calls(manifest).find(path_of(manifest)), True
        except ApiRefused as refusal:
            if refusal.lacks_rights:
                return None, False
            raise

    def _put(self, manifest: Json, found: Json | None, *, in_its_version: bool) -> Json:
        """Apply the object. Applying keeps fields that others have added, so a changed object is first freed from
        those.
        The version alone would not be enough: an object that was deleted in the meantime would be created again
        unnoticed. So the uid is given too.
        """
        if found and self._strays(digests.key(manifest), [digests.digest(found)]):
            found = self._rid_of_others(manifest, found)
        if found and in_its_version:
            same = {name: found["metadata"][name] for name in ("uid", "resourceVersion")}
            manifest = _with(manifest, **same)
        return self._calls(manifest).apply(manifest)

    def _rid_of_others(self, manifest: Json, found: Json) -> Json | None:
        if manifest["kind"] == "Namespace":
            return self._without_weakening(manifest, found)
        if manifest["kind"] in _OUTSIDE:
            return found
        if manifest["kind"] == "Ingress" and "ingressClassName" not in manifest["spec"]:
            self._inside.delete(path_of(manifest))  # only a new Ingress gets the cluster's default class
            return None
        version = found["metadata"]["resourceVersion"]
        return self._inside.replace(_with(manifest, resourceVersion=version, managedFields=[{}]))

    def _without_weakening(self, manifest: Json, found: Json) -> Json:
        """Remove labels of others that weaken the rules for pods.
        All labels are changed in one request, because the admission policy refuses every request after which the
        namespace is still weakened.
        """
        ours, labels = manifest["metadata"]["labels"], found["metadata"].get("labels") or {}
        others = [label for label in labels if label.startswith(digests.POD_SECURITY) and label not in ours]
        if not others:
            return found
        change = {"metadata": {"labels": {**ours, **dict.fromkeys(others)}}}
        return self._inside.connection.merge(path_of(manifest), change)

    def _suspect(self, obj: Json, befores: Iterable[str | None]) -> str:
        """Report the object before it is changed, if it differs. `befores` are the digests that it had; None means that
        it was gone. Returns the reported words, or "".
        """
        words = self._words(obj, befores)
        if words:
            self._note(words)
        return words

    def _done(self, applied: Json, befores: Iterable[str | None], suspected: str) -> None:
        self.digests |= digests.of(applied)
        words = self._words(applied, [one for one in befores if one != digests.digest(applied)])
        if suspected and suspected != words:
            self.unfounded.add(suspected)
        if words and suspected != words:
            self._note(words)

    def _words(self, obj: Json, befores: Iterable[str | None]) -> str:
        strays = self._strays(digests.key(obj), befores)
        if not strays:
            return ""
        return digests.was_changed(obj) if strays[-1] else digests.was_gone(obj)

    def _strays(self, key: str, digests: Iterable[str | None]) -> list[str | None]:
        """Those digests that differ from the noted digest of this object."""
        return [one for one in digests if key in self._kept and one != self._kept[key]]

    def _calls(self, manifest: Json) -> Connection | Inside:
        return self._inside.connection if manifest["kind"] in _OUTSIDE else self._inside


def _with(manifest: Json, **metadata: object) -> Json:
    return {**manifest, "metadata": {**manifest["metadata"], **metadata}}


def _hash(workload: Json) -> object:
    return (workload["metadata"].get("annotations") or {}).get(names.HASH_ANNOTATION)
