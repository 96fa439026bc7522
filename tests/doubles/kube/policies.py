"""ValidatingAdmissionPolicies: CEL expressions, evaluated on each planned change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cel

from tests.doubles.kube.access import ClusterAccess, user
from tests.doubles.kube.failures import Failure
from tests.doubles.kube.resources import Object, ResourceTarget

Allowed = Callable[[Object], bool]
_ASKED = ("group", "resource", "namespace", "name", "check")


@dataclass(frozen=True, slots=True)
class Deed:
    """A planned change. `old` is the object before, `new` the object after the change."""

    account: str
    operation: str  # CREATE, UPDATE, DELETE, CONNECT
    target: ResourceTarget
    new: Object | None
    old: Object | None
    namespace: Object | None  # the object's namespace; None for a cluster-wide object or a namespace

    def request(self) -> Object:
        """The request of an AdmissionReview, without empty fields. A namespace is its own namespace."""
        target, resource = self.target, self.target.resource
        namespace = target.name if resource.kind == "Namespace" else target.namespace
        named = {"subResource": target.subresource, "namespace": namespace, "name": target.name}
        return {
            "operation": self.operation,
            "userInfo": {"username": user(self.account)},
            "resource": {"group": resource.group, "version": resource.version, "resource": resource.plural},
            **{name: value for name, value in named.items() if value},
        }


@dataclass
class Policies:
    access: ClusterAccess
    installed: list[Object] = field(default_factory=list)

    def install(self, objects: list[Object]) -> None:
        bound = {one["spec"]["policyName"] for one in objects if one["kind"] == "ValidatingAdmissionPolicyBinding"}
        policies = [one for one in objects if one["kind"] == "ValidatingAdmissionPolicy"]
        self.installed += [one for one in policies if one["metadata"]["name"] in bound]

    def check(self, deed: Deed) -> None:
        """Raises the server's refusal if a policy forbids the change. An error in an expression forbids it too."""
        for policy in self.installed:
            spec, context = policy["spec"], self._context(deed)
            if not any(_is_about(rule, deed) for rule in spec["matchConstraints"]["resourceRules"]):
                continue
            if not all(_is_true(one["expression"], context) for one in spec.get("matchConditions") or ()):
                continue
            variables: Object = {}
            for variable in spec.get("variables") or ():
                context.add_variable("variables", variables)
                variables[variable["name"]] = cel.evaluate(variable["expression"], context)
            context.add_variable("variables", variables)
            for validation in spec["validations"]:
                if not _is_true(validation["expression"], context):
                    raise _denied(policy["metadata"]["name"], deed, validation)

    def _context(self, deed: Deed) -> Any:
        context = cel.Context()
        named = {"object": deed.new, "oldObject": deed.old, "namespaceObject": deed.namespace}
        for name, value in {**named, "request": deed.request(), "authorizer": {}}.items():
            context.add_variable(name, value)
        for step in _ASKED:
            context.add_function(step, lambda asked, value, step=step: {**asked, step: value})
        context.add_function("allowed", self._answer(deed.account))
        return context

    def _answer(self, account: str) -> Allowed:
        def allowed(asked: Object) -> bool:
            about = {"namespace": asked.get("namespace", ""), "name": asked.get("name", "")}
            return self.access.allows(account, asked["check"], asked["group"], asked["resource"], **about)

        return allowed


def _is_about(rule: Object, deed: Deed) -> bool:
    resource, below = deed.target.resource, deed.target.subresource
    named = f"{resource.plural}/{below}" if below else resource.plural
    return (
        not {"*", resource.group}.isdisjoint(rule["apiGroups"])
        and not {"*", deed.operation}.isdisjoint(rule["operations"])
        and not {"*/*", "*" if not below else f"*/{below}", named}.isdisjoint(rule["resources"])
    )


def _is_true(expression: str, context: Any) -> bool:
    return cel.evaluate(expression, context) is True


def _denied(policy: str, deed: Deed, validation: Object) -> Failure:
    resource, name = deed.target.resource, deed.target.name
    why = f"ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: {validation['message']}"
    about = f'{resource.qualified} "{name}" is forbidden: {why}'
    code = {"Forbidden": 403, "Invalid": 422}[validation.get("reason", "Invalid")]
    return Failure(code, about, details={"name": name, "group": resource.group, "kind": resource.plural})
