"""The requests of the pods on each node, updated with each change: counting all pods again for each would be slow."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.doubles.kube.quantities import quantity
from tests.doubles.kube.resources import Object

Load = Counter[str]  # `pods`, and thousandths of `cpu` and `memory`

_ENDED = {"Succeeded", "Failed"}


def load_of(pod: Object) -> Load:
    load: Load = Counter(pods=1000)
    for container in pod["spec"]["containers"]:
        requests = (container.get("resources") or {}).get("requests") or {}
        for name in ("cpu", "memory"):
            load[name] += int(quantity(requests.get(name, 0)) * 1000)
    return load


@dataclass
class Loads:
    nodes: dict[str, Load] = field(default_factory=dict)
    _placed: dict[str, tuple[str, Load]] = field(default_factory=dict)  # by the pod's uid

    def of(self, node: str) -> Load:
        return self.nodes.get(node) or Counter()

    def see(self, pod: Object, *, is_gone: bool = False) -> None:
        """Count the pod on its node, once; or stop counting it when it has ended."""
        uid, node = pod["metadata"]["uid"], pod["spec"].get("nodeName")
        if is_gone or pod.get("status", {}).get("phase") in _ENDED:
            where, load = self._placed.pop(uid, ("", Counter()))
            self.nodes.get(where, Counter()).subtract(load)
        elif node and uid not in self._placed:
            load = load_of(pod)
            self._placed[uid] = (node, load)
            self.nodes.setdefault(node, Counter()).update(load)
