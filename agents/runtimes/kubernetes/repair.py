"""Putting back what somebody has changed or taken away of a pod's objects, and nothing else of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from agents.runtimes.base import PodSpec
from agents.runtimes.kubernetes import kept, manifests, names, network, volumes
from agents.runtimes.kubernetes.client import Connection, Refused, path_of
from agents.runtimes.kubernetes.kept import Digests
from agents.runtimes.kubernetes.place import Place
from agents.runtimes.kubernetes.rights import Inside

Json = dict[str, Any]

# Our account reads and writes these without a right that it gives itself. Applying makes them whole again, for nobody
# else's field of them counts but labels that weaken a namespace.
_OUTSIDE = {"Namespace", "RoleBinding"}
_CLAIM = {"kind": "PersistentVolumeClaim", "metadata": {"name": names.CLAIM}}
# An object that changes between our look at it and our change is looked at again.
TRIES = 4
_OTHERWISE_BY_NOW = {404, 409}

Note = Callable[[str], None]


class Repair:
    """`kept` and `seen` are digests as the driver noted and the observer saw them. Afterwards `digests` are to be kept.

    Each object is looked at once more: what was changed after the observer looked is told too, and not put back in
    silence. `note` is called, in whichever thread, with a few words of what is astray before it is put back, so that
    a repair that fails half way, or whose worker is killed, has told it all the same. `unfounded` are those words that
    proved wrong: the object turned out to be just as we would have it.
    """

    def __init__(self, inside: Inside, *, kept: Digests, seen: Digests, note: Note) -> None:
        self._inside, self._kept, self._seen, self._note = inside, kept, seen, note
        self.digests: Digests = {}
        self.unfounded: set[str] = set()

    def put_back(self, spec: PodSpec, place: Place) -> None:
        """Everything but claim and workload, in the order of a deploy; and the workload if it strayed or is of today.

        A workload that an earlier release has made stays as it is: putting objects back starts no pod anew.
        """
        self._made_again(manifests.namespace(spec, place))
        self._rights()
        routes = [*network.routes(spec, place), *network.domain_objects(spec, place)]
        wanted = [*manifests.before_workload(spec, place), *routes]
        self._inside.connection.at_once([partial(self._made_again, manifest) for manifest in wanted])
        self._made_again(manifests.limits(spec, place, secrets=kept.secrets(self.digests)))
        self._workload(manifests.deployment(spec, place))

    def keep_claim(self, claim: Callable[[Json | None], Json]) -> None:
        """`claim` is given the one that is there, or makes it on the volume that the last one has left.

        An observer of an older release tells of none: so only our own look counts.
        """
        known = volumes.claim_of(self._inside)
        befores = [kept.digest(known) if known else None]
        suspected = self._suspect(_CLAIM, befores)
        found = claim(known)
        if self._strays(kept.CLAIM, [kept.digest(found)]):
            found = self._inside.label(path_of(found))
        self._done(found, befores, suspected)
        if kept.CLAIM in {*self._kept, *self._seen}:
            self.digests[kept.CLAIM] = kept.digest(found)

    def keep_volume(self, labels: dict[str, str]) -> None:
        """Whatever becomes of the namespace, the agent's files stay."""
        if found := volumes.bound(self._inside):
            befores = [self._seen.get(kept.key(found)), kept.digest(found)]
            suspected = self._suspect(found, befores)
            self._done(volumes.keep(self._inside.connection, found, labels=labels), befores, suspected)

    def _rights(self) -> None:
        binding = self._inside.binding()
        if binding is None:
            return
        try:
            self._made_again(binding)
        except Refused as refusal:
            if not refusal.lacks_rights:  # an older chart's account brings its rights with it
                raise

    def _workload(self, wanted: Json) -> None:
        key = kept.key(wanted)
        found = self._inside.find(path_of(wanted))
        if found is None:
            return  # without it the agent is not running: it is built again as a whole
        if self._strays(key, [self._seen.get(key), kept.digest(found)]) or _hash(found) == _hash(wanted):
            self._made_again(wanted)
        elif key in self._kept:
            self.digests[key] = self._kept[key]

    def _made_again(self, manifest: Json) -> None:
        """In the version that was looked at, so that no change in between is overwritten unseen.

        The last try takes any version: statuses of busy objects change all the time.
        """
        if manifest["kind"] == "Secret":
            self._written_again(manifest)
            return
        befores = [self._seen.get(kept.key(manifest))]
        for left in reversed(range(TRIES)):
            found, is_known = self._look(manifest)
            if is_known:
                befores.append(kept.digest(found) if found else None)
            suspected = self._suspect(manifest, befores)
            try:
                applied = self._put(manifest, found, in_its_version=left > 0)
            except Refused as refusal:
                if refusal.status not in _OTHERWISE_BY_NOW or not left:
                    raise
                continue
            if found and left == 0 and found["metadata"]["uid"] != applied["metadata"]["uid"]:
                befores.append(None)  # deleted after our last look; before, that is a conflict
            self._done(applied, befores, suspected)
            return

    def _written_again(self, secret: Json) -> None:
        """It is never read: one that was gone shows by the identity of the one that is there now."""
        key = kept.key(secret)
        suspected = self._suspect(secret, [self._seen.get(key)])
        applied = self._inside.apply(secret)
        is_other = self._kept.get(key) != kept.digest(applied)
        self._done(applied, [None] if is_other else [], suspected)

    def _look(self, manifest: Json) -> tuple[Json | None, bool]:
        """The object as it is now; and whether that is known, for what we may not read is not."""
        try:
            return self._calls(manifest).find(path_of(manifest)), True
        except Refused as refusal:
            if refusal.lacks_rights:
                return None, False
            raise

    def _put(self, manifest: Json, found: Json | None, *, in_its_version: bool) -> Json:
        """Applying leaves what others have added, so what has strayed is first rid of that.

        The version alone is not enough: with it, one that was deleted meanwhile would be made anew without a word.
        """
        if found and self._strays(kept.key(manifest), [kept.digest(found)]):
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
            self._inside.delete(path_of(manifest))  # only a new one is given the cluster's default class
            return None
        version = found["metadata"]["resourceVersion"]
        return self._inside.replace(_with(manifest, resourceVersion=version, managedFields=[{}]))

    def _without_weakening(self, manifest: Json, found: Json) -> Json:
        """With none of somebody else's labels that weaken what pods may be.

        In one change: the admission policy refuses every one after which the namespace is still weakened.
        """
        ours, labels = manifest["metadata"]["labels"], found["metadata"].get("labels") or {}
        others = [label for label in labels if label.startswith(kept.POD_SECURITY) and label not in ours]
        if not others:
            return found
        change = {"metadata": {"labels": {**ours, **dict.fromkeys(others)}}}
        return self._inside.connection.merge(path_of(manifest), change)

    def _suspect(self, obj: Json, befores: Iterable[str | None]) -> str:
        """What is told of it before it is changed. `befores`: the digests that it had, None where it was gone."""
        words = self._words(obj, befores)
        if words:
            self._note(words)
        return words

    def _done(self, applied: Json, befores: Iterable[str | None], suspected: str) -> None:
        self.digests |= kept.of(applied)
        words = self._words(applied, [one for one in befores if one != kept.digest(applied)])
        if suspected and suspected != words:
            self.unfounded.add(suspected)
        if words and suspected != words:
            self._note(words)

    def _words(self, obj: Json, befores: Iterable[str | None]) -> str:
        strays = self._strays(kept.key(obj), befores)
        if not strays:
            return ""
        return kept.was_changed(obj) if strays[-1] else kept.was_gone(obj)

    def _strays(self, key: str, digests: Iterable[str | None]) -> list[str | None]:
        """Those of an object's digests that are not as it was noted."""
        return [one for one in digests if key in self._kept and one != self._kept[key]]

    def _calls(self, manifest: Json) -> Connection | Inside:
        return self._inside.connection if manifest["kind"] in _OUTSIDE else self._inside


def _with(manifest: Json, **metadata: object) -> Json:
    return {**manifest, "metadata": {**manifest["metadata"], **metadata}}


def _hash(workload: Json) -> object:
    return (workload["metadata"].get("annotations") or {}).get(names.HASH_ANNOTATION)
