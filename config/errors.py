"""What a refusal is: a code, a status, a message naming the field. Raised anywhere, rendered once in `config.api`."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar


class ErrorCode(StrEnum):
    """The closed set of machine codes (spec: Errors)."""

    BAD_REQUEST = "BAD_REQUEST"
    UNAUTHORIZED = "UNAUTHORIZED"
    INVALID_CODE = "INVALID_CODE"
    FORBIDDEN = "FORBIDDEN"
    NOT_FOUND = "NOT_FOUND"
    CONFLICT = "CONFLICT"
    RATE_LIMITED = "RATE_LIMITED"
    INTERNAL = "INTERNAL"


class ServiceError(Exception):
    """A refusal or failure that the caller may see. `message` is for people and never holds a secret."""

    code: ClassVar[ErrorCode] = ErrorCode.INTERNAL
    status: ClassVar[int] = 500

    def __init__(self, message: str, *, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.headers = headers or {}


class BadRequest(ServiceError):
    code = ErrorCode.BAD_REQUEST
    status = 400


class Unprocessable(BadRequest):
    """An Idempotency-Key came again with another body."""

    status = 422


class Unauthorized(ServiceError):
    code = ErrorCode.UNAUTHORIZED
    status = 401


class InvalidCode(Unauthorized):
    """Wrong digits on a live sign-in code."""

    code = ErrorCode.INVALID_CODE


class Forbidden(ServiceError):
    code = ErrorCode.FORBIDDEN
    status = 403


class NotFound(ServiceError):
    code = ErrorCode.NOT_FOUND
    status = 404


class Conflict(ServiceError):
    code = ErrorCode.CONFLICT
    status = 409


class RateLimited(ServiceError):
    """`retry_after` is in seconds."""

    code = ErrorCode.RATE_LIMITED
    status = 429

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message, headers={"Retry-After": str(retry_after)})


class Unavailable(ServiceError):
    """Something this call needs is down or busy; `retry_after` is in seconds."""

    code = ErrorCode.INTERNAL
    status = 503

    def __init__(self, message: str, *, retry_after: int = 5) -> None:
        super().__init__(message, headers={"Retry-After": str(retry_after)})
