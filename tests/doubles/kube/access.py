"""Accounts, their tokens, and what role-based access control (RBAC) allows them."""

from __future__ import annotations

import base64
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import yaml

from tests.doubles.kube.failures import Failure
from tests.doubles.kube.resources import Object, ResourceTarget

ADMIN = "admin"
SERVICE_ACCOUNT = "system:serviceaccount:"

Namespaced = Callable[[str, str], Iterable[Object]]  # from a kind and a namespace to the objects there


def _nothing(kind: str, namespace: str) -> Iterable[Object]:
    return ()


@dataclass
class ClusterAccess:
    """The accounts and their rights. An account without rules may do everything."""

    tokens: dict[str, str] = field(default_factory=dict)  # token to account
    rules: dict[str, list[Object]] = field(default_factory=dict)  # by account, for all namespaces
    roles: dict[str, list[Object]] = field(default_factory=dict)  # the roles that a RoleBinding may name
    objects: Namespaced = _nothing
    settle_seconds: float = 0.0  # seconds before a new binding counts, because a real server caches bindings
    _first_asked: dict[str, float] = field(default_factory=dict)

    def token(self, account: str) -> str:
        known = {name: token for token, name in self.tokens.items()}
        if account not in known:
            known[account] = secrets.token_urlsafe(24)
            self.tokens[known[account]] = account
        return known[account]

    def account(self, header: str | None, certified: str | None) -> str:
        """The account of this client certificate or token. Raises 401 if there is none."""
        if certified:
            return certified
        scheme, _, token = (header or "").partition(" ")
        if scheme.lower() != "bearer" or token not in self.tokens:
            raise Failure(401, "Unauthorized")
        return self.tokens[token]

    def install(self, objects: Iterable[Object]) -> None:
        """Install these accounts, roles and ClusterRoleBindings; a RoleBinding is stored as a normal object."""
        listed = list(objects)
        for role in listed:
            if role["kind"] in {"ClusterRole", "Role"}:
                self.roles[_role_key(role["kind"], role["metadata"].get("namespace", ""), role["metadata"]["name"])] = (
                    role["rules"]
                )
        for one in listed:
            if one["kind"] == "ServiceAccount":
                self.rules.setdefault(_service_account(one["metadata"]), [])
        for binding in listed:
            if binding["kind"] == "ClusterRoleBinding":
                for subject in binding["subjects"]:
                    self.rules[_service_account(subject)] += self.roles[_role_key("ClusterRole", "", _ref(binding))]

    def check(self, account: str, verb: str, target: ResourceTarget) -> None:
        resource = target.resource
        named = f"{resource.plural}/{target.subresource}" if target.subresource else resource.plural
        if self.allows(account, verb, resource.group, named, namespace=target.namespace, name=target.name):
            return
        scope = f'in the namespace "{target.namespace}"' if target.namespace else "at the cluster scope"
        what = f'cannot {verb} resource "{named}" in API group "{resource.group}" {scope}'
        about = f'{resource.qualified} "{target.name}"' if target.name else resource.qualified
        details = {"name": target.name, "group": resource.group, "kind": resource.plural}
        found = {key: value for key, value in details.items() if value}
        raise Failure(403, f'{about} is forbidden: User "{user(account)}" {what}', details=found)

    def check_binding(self, account: str, binding: Object) -> None:
        """An account may grant a role only if it has the role's rights itself, or the right to bind the role."""
        reference = binding["roleRef"]
        group, plural = "rbac.authorization.k8s.io", f"{reference['kind'].lower()}s"
        if not self.allows(account, "bind", group, plural, namespace="", name=reference["name"]):
            why = "user attempting to grant RBAC permissions not currently held"
            about = f'rolebindings.{group} "{binding["metadata"]["name"]}" is forbidden: User "{user(account)}"'
            raise Failure(403, f"{about}: {why}")

    def allows(self, account: str, verb: str, group: str, named: str, *, namespace: str, name: str) -> bool:
        if account == ADMIN or account not in self.rules:
            return True
        rules = [*self.rules[account], *(self._rules_in(namespace, account) if namespace else ())]
        return any(_matches(rule, verb, group, named, name) for rule in rules)

    def _rules_in(self, namespace: str, account: str) -> Iterable[Object]:
        for binding in self.objects("RoleBinding", namespace):
            first = self._first_asked.setdefault(binding["metadata"]["uid"], time.monotonic())
            if time.monotonic() - first < self.settle_seconds:
                continue
            if user(account) in {_service_account(subject) for subject in binding.get("subjects") or ()}:
                kind = binding["roleRef"]["kind"]
                scope = namespace if kind == "Role" else ""
                yield from self.roles.get(_role_key(kind, scope, _ref(binding)), ())


def _role_key(kind: str, namespace: str, name: str) -> str:
    return f"{kind}/{namespace}/{name}"


def _ref(binding: Object) -> str:
    return str(binding["roleRef"]["name"])


def _service_account(named: Object) -> str:
    return f"{SERVICE_ACCOUNT}{named.get('namespace', '')}:{named['name']}"


def _matches(rule: Object, verb: str, group: str, named: str, name: str) -> bool:
    names = rule.get("resourceNames") or []
    subresource = named.partition("/")[2]
    return (
        _covers(rule.get("verbs"), verb)
        and _covers(rule.get("apiGroups"), group)
        and (_covers(rule.get("resources"), named) or f"*/{subresource}" in (rule.get("resources") or []))
        and (not names or name in names)
    )


def _covers(listed: list[str] | None, value: str) -> bool:
    return value in (listed or []) or "*" in (listed or [])


def user(account: str) -> str:
    """The account's name in the API server. A short name is an account of the double."""
    if account == ADMIN:
        return "kubernetes-admin"
    return account if account.startswith(SERVICE_ACCOUNT) else f"{SERVICE_ACCOUNT}agentpods:{account}"


def kubeconfig(*, server: str, authority: bytes, account: str, shown: Object) -> str:
    """`shown` is the proof of identity: a token, or a certificate with its key."""
    cluster = {"server": server, "certificate-authority-data": base64.b64encode(authority).decode()}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "double", "cluster": cluster}],
        "users": [{"name": account, "user": shown}],
        "contexts": [{"name": "double", "context": {"cluster": "double", "user": account}}],
        "current-context": "double",
        "preferences": {},
    }
    return yaml.safe_dump(config)
