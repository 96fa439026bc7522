"""Questions of an account about itself: who am I, and may I do this?"""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.doubles.kube.access import ClusterAccess, user
from tests.doubles.kube.resources import Object

_WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_MAY_I = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def answer(route: str, access: ClusterAccess, account: str) -> Callable[[bytes], Object] | None:
    """The function that answers a review of this route, from its body. None if the route is no review."""

    def who(body: bytes) -> Object:
        return {**json.loads(body), "status": {"userInfo": {"username": user(account)}}}

    def may_i(body: bytes) -> Object:
        asked = json.loads(body)
        about = asked["spec"]["resourceAttributes"]
        named = "/".join(filter(None, (about["resource"], about.get("subresource"))))
        where = {"namespace": about.get("namespace", ""), "name": about.get("name", "")}
        return {**asked, "status": {"allowed": access.allows(account, about["verb"], about["group"], named, **where)}}

    return {_WHO: who, _MAY_I: may_i}.get(route)
