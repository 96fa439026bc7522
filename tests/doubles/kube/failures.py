"""The API server's refusals: `Status` objects with the real reasons and texts."""

from __future__ import annotations

from typing import Any

from tests.doubles.kube.resources import Object, Resource

REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Failure(Exception):
    def __init__(
        self,
        code: int,
        message: str,
        *,
        reason: str | None = None,
        details: Object | None = None,
        retry: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retry_after = retry
        self.status: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": REASONS.get(code, "") if reason is None else reason,
            "code": code,
        }
        if details:
            self.status["details"] = details


def details(resource: Resource, name: str = "", **more: Any) -> Object:
    found: Object = {"name": name} if name else {}
    if resource.group:
        found["group"] = resource.group
    return {**found, "kind": resource.plural, **more}


def not_found(resource: Resource, name: str) -> Failure:
    return Failure(404, f'{resource.qualified} "{name}" not found', details=details(resource, name))


def no_such_path() -> Failure:
    return Failure(404, "the server could not find the requested resource", details={})


def exists(resource: Resource, name: str, *, deleted: bool = False) -> Failure:
    message = f'{resource.qualified} "{name}" already exists'
    if deleted:
        message = f"object is being deleted: {message}"
    return Failure(409, message, reason="AlreadyExists", details=details(resource, name))


def conflict(resource: Resource, name: str, why: str) -> Failure:
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}'
    return Failure(409, message, details=details(resource, name))


def invalid(resource: Resource, name: str, causes: list[tuple[str, str]]) -> Failure:
    """A 422 refusal. `causes` are pairs: the field and its error."""
    listed = [f"{field}: {message}" for field, message in causes]
    text = listed[0] if len(listed) == 1 else f"[{', '.join(listed)}]"
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    found = details(
        resource, name, causes=[{"reason": "FieldValueInvalid", "message": m, "field": f} for f, m in causes]
    )
    return Failure(422, f'{kind} "{name}" is invalid: {text}', details={**found, "kind": resource.kind})


def forbidden(resource: Resource, name: str, why: str, *, cause: Object | None = None) -> Failure:
    found = details(resource, name, **({"causes": [cause]} if cause else {}))
    return Failure(403, f'{resource.qualified} "{name}" is forbidden: {why}', details=found)


def expired(asked: int, oldest: int) -> Failure:
    return Failure(410, f"too old resource version: {asked} ({oldest})", details={})
