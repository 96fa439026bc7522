"""Accounts, their tokens, and what role-based access control lets them do."""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass, field

import yaml

from tests.doubles.kube.failures import Failure
from tests.doubles.kube.resources import Object, Target

ADMIN = "admin"


@dataclass
class Access:
    """An account without rules may do everything."""

    tokens: dict[str, str] = field(default_factory=dict)  # token to account
    rules: dict[str, list[Object]] = field(default_factory=dict)

    def token(self, account: str) -> str:
        known = {name: token for token, name in self.tokens.items()}
        if account not in known:
            known[account] = secrets.token_urlsafe(24)
            self.tokens[known[account]] = account
        return known[account]

    def account(self, header: str | None, certified: str | None) -> str:
        """Whom a certificate names, or whose token this is; 401 for nobody."""
        if certified:
            return certified
        scheme, _, token = (header or "").partition(" ")
        if scheme.lower() != "bearer" or token not in self.tokens:
            raise Failure(401, "Unauthorized")
        return self.tokens[token]

    def check(self, account: str, verb: str, target: Target) -> None:
        resource = target.resource
        named = f"{resource.plural}/{target.subresource}" if target.subresource else resource.plural
        if self._allows(account, verb, resource.group, named, target.name):
            return
        scope = f'in the namespace "{target.namespace}"' if target.namespace else "at the cluster scope"
        what = f'cannot {verb} resource "{named}" in API group "{resource.group}" {scope}'
        about = f'{resource.qualified} "{target.name}"' if target.name else resource.qualified
        details = {"name": target.name, "group": resource.group, "kind": resource.plural}
        found = {key: value for key, value in details.items() if value}
        raise Failure(403, f'{about} is forbidden: User "{user(account)}" {what}', details=found)

    def _allows(self, account: str, verb: str, group: str, named: str, name: str) -> bool:
        if account == ADMIN or account not in self.rules:
            return True
        return any(_matches(rule, verb, group, named, name) for rule in self.rules[account])


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
    return "kubernetes-admin" if account == ADMIN else f"system:serviceaccount:agentpods:{account}"


def kubeconfig(*, server: str, authority: bytes, account: str, shown: Object) -> str:
    """`shown`: what proves that it is this account."""
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
