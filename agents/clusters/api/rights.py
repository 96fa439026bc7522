"""Gives our account its rights in a cluster: a few rights everywhere, and in an agent's namespace those that it gives
to itself there.
The Helm chart's account has a role for agents' namespaces. It may bind this role only to itself, and only in namespaces
of this installation (deploy/helm/agentpods/templates/admission.yaml). Other accounts, such as an administrator's
kubeconfig, have all rights from the start.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from agents.clusters.api import digests, names
from agents.clusters.api.client import ApiRefused, Connection, path_of

log = logging.getLogger(__name__)

# The API server may take this many seconds before a new binding has effect.
SETTLE_SECONDS = 5.0
FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 0.5

_CHARTS_ACCOUNT = re.compile(r"system:serviceaccount:([^:]+):((.+)-(?:drive|remote))")
_RBAC = "rbac.authorization.k8s.io"

Json = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ClusterAccount:
    """The chart's account, and the role that it binds in agents' namespaces."""

    namespace: str
    name: str
    role: str


def account_of(connection: Connection) -> ClusterAccount | None:
    """The chart's account; None if this is another account. Raises RuntimeFailure."""
    found = _CHARTS_ACCOUNT.fullmatch(connection.username())
    return ClusterAccount(found[1], found[2], f"{found[1]}-{found[3]}-agent") if found else None


def binding(account: ClusterAccount, namespace: str, labels: Mapping[str, str]) -> Json:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": names.RIGHTS, "namespace": namespace, "labels": dict(labels)},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": account.role},
        "subjects": [{"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace}],
    }


# Called with words about how our rights in a namespace were lost, before they are given again.
Regains = Callable[[str], None]


def _nobody(words: str) -> None:
    """The default: tell nobody that rights were lost and given again."""


class Inside:
    """Calls inside one namespace of this installation. If our account has no rights there, it gives them to itself and
    repeats the call.
    This way it gets rights in a namespace of an older release, and in a namespace where somebody has removed them.
    """

    def __init__(
        self, connection: Connection, namespace: str, *, labels: Mapping[str, str], regains: Regains = _nobody
    ) -> None:
        self.connection, self.namespace = connection, namespace
        self._is_bound = False
        self._labels, self._told = labels, regains

    def binding(self) -> Json | None:
        """The RoleBinding that gives our account its rights here; None for an account that has its rights from the
        start.
        """
        account = account_of(self.connection)
        return binding(account, self.namespace, self._labels) if account else None

    def bind(self) -> list[Json]:
        """Give our account its rights here and return the applied objects. Empty for an account that has its rights
        from the start; the account of an older chart does too.
        """
        wanted = self.binding()
        if wanted is None:
            return []
        try:
            applied = self.connection.apply(wanted)
        except ApiRefused as refusal:
            if refusal.lacks_rights:
                return []
            raise
        self._is_bound = True
        return [applied]

    def find(self, path: str) -> Json | None:
        """The object; None if it does not exist, or if the namespace does not exist."""
        try:
            return self._with_rights(lambda: self.connection.find(path))
        except ApiRefused as refusal:
            if refusal.status == 404:
                return None
            raise

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Json:
        return self._with_rights(lambda: self.connection.get(path, query))

    def apply(self, manifest: Json) -> Json:
        return self._with_rights(lambda: self.connection.apply(manifest))

    def replace(self, manifest: Json) -> Json:
        return self._with_rights(lambda: self.connection.replace(manifest))

    def merge(self, path: str, body: Json) -> Json:
        return self._with_rights(lambda: self.connection.merge(path, body))

    def labelled(self, obj: Json) -> Json:
        """The object with our labels."""
        return {**obj, "metadata": {**obj["metadata"], "labels": dict(self._labels)}}

    def label(self, path: str) -> Json:
        """Set our labels on the object, and return it."""
        return self.merge(path, {"metadata": {"labels": dict(self._labels)}})

    def delete(self, path: str) -> None:
        self._with_rights(lambda: self.connection.delete(path))

    def _with_rights(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except ApiRefused as refusal:
            if not refusal.lacks_rights or not (self._is_bound or self._regains()):
                raise
        return _once_settled(call)

    def _regains(self) -> bool:
        wanted = self.binding()
        if wanted is None:
            return False
        if words := self._how_lost(wanted):
            self._told(words)
        if not self.bind():
            return False
        log.warning("our rights were missing in a namespace and are granted again", extra={"namespace": self.namespace})
        return True

    def _how_lost(self, wanted: Json) -> str:
        """How the rights were lost, in words; "" if the binding is fine and only has no effect yet."""
        try:
            found = self.connection.find(path_of(wanted))
        except ApiRefused as refusal:
            if not refusal.lacks_rights:  # an older chart's account may not read it
                raise
            return digests.was_changed(wanted)
        if found is None:
            return digests.was_gone(wanted)
        return digests.was_changed(wanted) if digests.digest(found) != digests.digest(wanted) else ""


def _once_settled(call: Callable[[], T]) -> T:
    until, pause = time.monotonic() + SETTLE_SECONDS, FIRST_PAUSE_SECONDS
    while True:
        try:
            return call()
        except ApiRefused as refusal:
            if not refusal.lacks_rights or time.monotonic() + pause > until:
                raise
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
