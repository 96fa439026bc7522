"""How operations are described in `/openapi.json`: names, tags, security, and every error that each can return."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema as BaseAutoSchema
from drf_spectacular.utils import OpenApiParameter

from config import dry_run, examples, operation_names, preferences, rate_limits, shown_fields
from config.api import ApiViewSet, ErrorSerializer
from config.errors import ErrorCode
from config.parsing import MAX_BODY_BYTES

BEARER = "bearer"

# status: (name in components/responses, code, when, an example message).
ERRORS: dict[int, tuple[str, ErrorCode, str, str]] = {
    400: (
        "BadRequest",
        ErrorCode.BAD_REQUEST,
        "A field is wrong; `message` names it.",
        "tier: 'huge' is not one of tiny, small, medium, large",
    ),
    401: (
        "Unauthorized",
        ErrorCode.UNAUTHORIZED,
        "No bearer, an expired session, or a revoked key.",
        "Invalid or revoked API key",
    ),
    403: (
        "Forbidden",
        ErrorCode.FORBIDDEN,
        "This bearer may not do this.",
        "an API key cannot create or revoke keys: sign in",
    ),
    404: ("NotFound", ErrorCode.NOT_FOUND, "No such thing, or not the caller's.", "no such agent"),
    409: (
        "Conflict",
        ErrorCode.CONFLICT,
        "The state of the thing does not allow this now.",
        "the agent is provisioning: wait until it is running",
    ),
    412: (
        "Changed",
        ErrorCode.CONFLICT,
        "The thing is not what `If-Match` expects: somebody changed it.",
        "If-Match: the agent was changed since you read it; GET /agents/{id} has it with its present ETag",
    ),
    413: (
        "TooLarge",
        ErrorCode.BAD_REQUEST,
        "The body is larger than this operation takes.",
        "body: larger than 65536 bytes",
    ),
    415: (
        "NotJson",
        ErrorCode.BAD_REQUEST,
        "The body is not JSON by its Content-Type.",
        "Content-Type: 'text/plain' is not taken here; allowed: application/json",
    ),
    422: (
        "OtherBody",
        ErrorCode.BAD_REQUEST,
        "The Idempotency-Key came before with another body.",
        "Idempotency-Key: was used with another body",
    ),
    429: (
        "RateLimited",
        ErrorCode.RATE_LIMITED,
        "Too many requests; wait for `Retry-After` seconds.",
        "too many requests: try again in 42 s",
    ),
    500: (
        "Internal",
        ErrorCode.INTERNAL,
        "A fault of ours; quote the request id.",
        "something went wrong on our side; quote req_0f1e2d3c4b5a69788796a5b4",
    ),
    503: (
        "Unavailable",
        ErrorCode.INTERNAL,
        "Something this call needs is down or busy; wait for `Retry-After` seconds.",
        "the database is not available: try again",
    ),
}
_WITH_RETRY_AFTER = (429, 503)
_NEVER_UNAVAILABLE = ("/health", "/status")

# group: the first or last fixed words of a path. The first match from the end of the path wins.
TAGS = {
    "Account": ("auth", "keys", "me"),
    "Personas": ("articles", "author", "publish", "unpublish"),
    "Catalog": ("personas", "tiers", "engines", "models", "llm-providers", "tools"),
    "Agents": ("agents", "pause", "resume", "rebuild"),
    "Agent configuration": ("llm-key", "channels", "a2a", "domain", "domain-check", "mcp-test", "egress"),
    "Talking": ("a2a-catalog", "chat", "ticket", "talk-test"),
    "Observation": ("liveness", "explain", "quota", "usage", "limits", "term", "memory", "logs", "replay", "events"),
    "Backups": ("backups",),
    "Webhooks": ("webhook", "deliveries"),
    "Billing": (
        "subscriptions",
        "payment-providers",
        "crypto",
        "stars",
        "stripe",
        "payments",
        "invoices",
        "billing-details",
    ),
    "Events": (),
    "Platform health": ("health", "status"),
}


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # the library is half typed
    target_class = "accounts.authentication.BearerAuthentication"
    name = BEARER

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A session token from `POST /auth/verify` or an API key `ak_live_…` from `POST /keys`.",
        }


class EntriesSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    target_class = "config.api.Entries"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        """The library's schema, with the maximum number of entries."""
        plain = auto_schema._map_serializer_field(self.target, direction, bypass_extensions=True)  # noqa: SLF001 # as its own extensions do
        values = plain.get("additionalProperties", {})
        return {"type": "object", "additionalProperties": values, "maxProperties": self.target.max_length}


class AutoSchema(BaseAutoSchema):
    """Adds to drf-spectacular what follows from our own rules, so that a view declares only its serializers.

    A view declares in `refusals = {action: statuses}` the errors that do not follow from credential, path and body.
    """

    def get_operation_id(self) -> str:
        many = getattr(self.view, "action", "") == "list"
        return operation_names.name_of(self.method, self.path, many=many)

    def get_tags(self) -> list[str]:
        words = operation_names.fixed_words(self.path)
        if "v1" in words:
            return ["Talking"]
        if words[0] == "agents" and words[-1] == "tools":
            return ["Agent configuration"]
        if "personas" in words and (words[0] == "me" or self.method != "GET"):
            return ["Personas"]
        for word in reversed(words):
            for tag, named in TAGS.items():
                if word in named:
                    return [tag]
        return [words[0]]

    def get_summary(self) -> str | None:
        return super().get_description().split("\n", 1)[0].rstrip(".") or None

    def get_description(self) -> str:  # type: ignore[override]  # as the library itself overrides it
        _, _, rest = super().get_description().partition("\n")
        return rest.strip()

    def get_override_parameters(self) -> list[Any]:
        replays = OpenApiParameter(
            name="Idempotency-Key",
            location=OpenApiParameter.HEADER,
            description="1 to 255 printable characters. The same key with the same body within 24 hours gives "
            "the first call's answer again, with `Idempotent-Replayed: true`.",
        )
        waits = OpenApiParameter(
            name=preferences.HEADER,
            location=OpenApiParameter.HEADER,
            description=f"`wait=N`: answer when the agent has settled, or after N seconds (at most "
            f"{preferences.MAX_WAIT_SECONDS}). `{preferences.APPLIED}` says that it was done.",
        )
        matches = OpenApiParameter(
            name="If-Match",
            location=OpenApiParameter.HEADER,
            description="The `ETag` of `GET /agents/{id}`: 412 if somebody has changed the agent since.",
        )
        tries = OpenApiParameter(
            name=dry_run.PARAMETER,
            type=bool,
            description="`true`: all checks, and the answer that would come, partly made up; nothing is changed.",
        )
        chooses = OpenApiParameter(name=shown_fields.PARAMETER, type=str, description=shown_fields.DESCRIPTION)
        settles = getattr(getattr(self.view, getattr(self.view, "action", ""), None), "settles", False)
        taken = (
            (tries, self._may_be_tried()),
            (replays, 422 in self._declared()),
            (waits, settles),
            (matches, self._takes_if_match()),
            (chooses, self._shows_chosen_fields()),
        )
        return [parameter for parameter, is_taken in taken if is_taken]

    def _may_be_tried(self) -> bool:
        return isinstance(self.view, ApiViewSet) and self.method != "GET" and not self.view.why_no_dry_run()

    def _shows_chosen_fields(self) -> bool:
        if self.method != "GET" or not isinstance(self.view, ApiViewSet):
            return False
        is_own = self.view.action in self.view.own_fields
        return not is_own and shown_fields.subject_of(self.get_response_serializers()) is not None

    def _takes_if_match(self) -> bool:
        return getattr(self.view, "has_etag", False) and self.method != "GET" and "{id}" in self.path

    def get_auth(self) -> list[dict[str, Any]]:
        return super().get_auth() or [{}]  # an empty requirement says "no credential"; a missing one would say nothing

    def _is_list_view(self, serializer: Any = None) -> bool:
        return False  # lists are answered as objects with a list inside

    def _is_create_operation(self) -> bool:
        return False  # creating answers 200 (docs/spec.md: Specified endpoints)

    def _get_request_body(self, direction: Any = "request") -> dict[str, Any] | None:
        body: dict[str, Any] | None = super()._get_request_body(direction)  # type: ignore[no-untyped-call]
        if body and direction == "request":
            at_most: int = getattr(self.view, "max_body_bytes", MAX_BODY_BYTES)
            body["description"] = f"At most {at_most // 1024} KiB."
        return body

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        answers: dict[str, Any] = super()._get_response_bodies(direction)
        if direction == "request":  # a webhook: its answers come from the receiver
            return answers
        self.resolve_serializer(ErrorSerializer, "response")
        for status in sorted(self._error_statuses()):
            answers.setdefault(str(status), {"$ref": f"#/components/responses/{ERRORS[status][0]}"})
        return answers

    def _error_statuses(self) -> set[int]:
        found = {500, *self._declared()}
        if self.path not in _NEVER_UNAVAILABLE:
            found |= {503}
        if self.view.get_authenticators():
            found |= {401, 403}  # 403: a limited key may not make every call
        if self._takes_if_match():
            found |= {412}
        if "{" in self.path:
            found |= {404}
        if self._get_request_body():
            found |= {400, 413, 415}
        if any(parameter["in"] == "query" for parameter in self._get_parameters()):
            found |= {400}
        return found

    def _declared(self) -> Collection[int]:
        refusals: Mapping[str, Collection[int]] = getattr(self.view, "refusals", {})
        return refusals.get(getattr(self.view, "action", ""), ())


def complete(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """The last step of generation: add the description (docs/reference/api.md), the shared error answers and the
    order of the groups.
    """
    described = (Path(settings.BASE_DIR) / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    result["info"]["description"] = described.partition("\n")[2].strip()
    result["components"]["responses"] = {ERRORS[status][0]: _error_response(status) for status in ERRORS}
    paths = [*result["paths"].values(), *result["webhooks"].values()]
    used = {tag for path in paths for operation in path.values() for tag in operation["tags"]}
    result["tags"] = [{"name": tag} for tag in TAGS if tag in used]
    _tidy(result)
    examples.add_to(result["components"]["schemas"])
    return result


def _tidy(node: Any) -> None:
    """Remove the generator's own marks, fill in empty descriptions, and write bounds of money as numbers, as OpenAPI
    requires.
    """
    if isinstance(node, list):
        for inner in node:
            _tidy(inner)
    if isinstance(node, dict):
        node.pop("x-spec-enum-id", None)
        if node.get("description") == "" and "content" in node:
            node["description"] = "Success."
        for name, inner in node.items():
            if isinstance(inner, Decimal):
                node[name] = float(inner)
            _tidy(inner)


def _error_response(status: int) -> dict[str, Any]:
    _, code, when, message = ERRORS[status]
    body = {"schema": {"$ref": "#/components/schemas/Error"}, "example": {"error": code.value, "message": message}}
    response: dict[str, Any] = {"description": when, "content": {"application/json": body}}
    if status in _WITH_RETRY_AFTER:
        response["headers"] = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
    if status == 429:
        response["headers"] |= {
            rate_limits.POLICY: {"schema": {"type": "string"}, "example": '"auth-request";q=10;w=600'},
            rate_limits.STATE: {"schema": {"type": "string"}, "example": '"auth-request";r=0;t=42'},
        }
    if status == 401:
        response["headers"] = {"WWW-Authenticate": {"schema": {"type": "string"}, "example": "Bearer"}}
    return response
