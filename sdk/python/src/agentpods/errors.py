"""What a call may raise. All of it is an `AgentpodsError`; no message has an API key in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any


class AgentpodsError(Exception):
    """The base of all errors of this package."""


class NoAnswerError(AgentpodsError):
    """The service could not be reached, or the connection broke. It is unknown whether the call was done."""


class TooSlowError(NoAnswerError):
    """The service did not answer in time. It is unknown whether the call was done."""


class UnexpectedAnswerError(AgentpodsError):
    """Something answered that is no service of this API, or the answer is larger than a client takes."""


class StreamCutError(AgentpodsError):
    """A stream ended before its last event. The turn may go on; the conversation keeps what was said."""


class NotSettledError(AgentpodsError):
    """The agent did not reach the status that `wait` was asked for. `agent` is as it was last seen."""

    def __init__(self, message: str, *, agent: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.agent = agent


class ApiError(AgentpodsError):
    """The service refused the call. `error` is the code for programs, `message` says what to do."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        error: str,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.error = message, status, error
        self.request_id, self.retry_after = request_id, retry_after

    def __str__(self) -> str:
        said = f"{self.status} {self.error}: {self.message}"
        return f"{said} (request {self.request_id})" if self.request_id else said


class BadRequestError(ApiError):
    """400, 405, 413, 415, 422: the message names the field, what came and what is allowed."""


class UnauthorizedError(ApiError):
    """401: no key, or a revoked one."""


class ForbiddenError(ApiError):
    """403: this credential may not do that."""


class NotFoundError(ApiError):
    """404: no such thing, or not yours."""


class ConflictError(ApiError):
    """409: the state does not allow it now. 412: somebody has changed the agent since you read it."""


class RateLimitedError(ApiError):
    """429: wait for `retry_after` seconds."""


class ServerError(ApiError):
    """500, 503: a fault of the service's, or something is down or busy. Quote `request_id`."""


_CLASSES = {401: UnauthorizedError, 403: ForbiddenError, 404: NotFoundError, 409: ConflictError, 412: ConflictError}
_CLASSES |= {429: RateLimitedError}
_SHOWN = 2_000  # characters of a message


def refusal(status: int, body: object, headers: Mapping[str, str], *, secret: str) -> ApiError:
    """The error of an answer that is no success. `body` is its JSON, or None if it has none."""
    told = body if isinstance(body, dict) else {}
    error, message = told.get("error"), told.get("message")
    text = message if isinstance(message, str) else f"the answer has no message (status {status})"
    kind = _CLASSES.get(status) or (ServerError if status >= 500 else BadRequestError)
    return kind(
        without(text, secret)[:_SHOWN],  # not cut before: a part of the key would stay
        status=status,
        error=without(error, secret)[:80] if isinstance(error, str) else "UNKNOWN",
        request_id=without(headers.get("request-id", ""), secret)[:80] or None,
        retry_after=seconds_of(headers.get("retry-after")),
    )


def without(text: str, secret: str) -> str:
    """The text with the API key blotted out, in case the service, or something in between, repeats it."""
    return text.replace(secret, "[key]") if secret else text


def seconds_of(retry_after: str | None) -> float | None:
    """The seconds of a `Retry-After` header, which is a number or a date."""
    if not retry_after:
        return None
    try:
        seconds = float(retry_after)
    except ValueError:
        return _until(retry_after)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _until(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())
