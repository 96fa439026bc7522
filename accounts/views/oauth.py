"""OAuth's endpoints for programs (docs/reference/oauth.md). The pages for people are in pages/account/oauth/."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any, cast

from authlib.oauth2.rfc6749 import InvalidClientError, InvalidRequestError, OAuth2Error
from django.core.exceptions import TooManyFieldsSent
from django.http import HttpResponse, JsonResponse, QueryDict
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import client_address, keys, throttling
from accounts.errors import InvalidKey
from accounts.oauth import clients
from accounts.oauth.documents import BadDocument
from accounts.oauth.server import json_of, metadata, resource_metadata, server
from accounts.throttling import Limit
from config.api import ApiViewSet
from config.negotiation import JsonAlways
from config.parsing import bounded

BODY_BYTES = 8_192
PUBLIC = {"Cache-Control": "public, max-age=3600"}
# Programs in browsers come from any site. Nothing here looks at a cookie, so no site gets more than it could ask for by
# itself.
PREFLIGHT = {
    "Access-Control-Allow-Headers": "Content-Type, MCP-Protocol-Version",
    "Access-Control-Max-Age": "86400",
}
SECRET = {"Cache-Control": "no-store", "Pragma": "no-cache"}


class BoundedForm(BaseParser):
    media_type = "application/x-www-form-urlencoded"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> QueryDict:
        try:
            return QueryDict(bounded(stream, parser_context), encoding="utf-8")
        except (UnicodeDecodeError, TooManyFieldsSent) as error:
            raise ParseError("body: not a form that can be read") from error


class FormsAndJson(JsonAlways):
    """Requests are forms, answers JSON."""

    def select_parser(self, request: Request, parsers: Any) -> BaseParser | None:
        chosen: BaseParser = parsers[0]
        return chosen if (request.content_type or "").split(";")[0].strip().lower() == chosen.media_type else None


class OAuthViewSet(ApiViewSet):
    """Not part of the API's description: the protocol describes itself."""

    schema = None
    http_method_names = [*ApiViewSet.http_method_names, "options"]  # as the library has it
    authentication_classes = ()
    permission_classes = ()
    parser_classes = (BoundedForm,)
    content_negotiation_class = FormsAndJson
    max_body_bytes = BODY_BYTES

    def options(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        """Tell a browser that another site's page may make this call."""
        allowed = ", ".join(method for method in self.allowed_methods if method != "OPTIONS")
        return Response(status=204, headers={**PREFLIGHT, "Access-Control-Allow-Methods": allowed})

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        response["Access-Control-Allow-Origin"] = "*"  # refusals too: the program must be able to read why
        return response

    def spend(self, limit: Limit) -> None:
        """Raises RateLimited."""
        throttling.spend(limit, by=client_address.household_of(self.request.META), now=timezone.now())

    def learn_client(self, request: Request) -> None:
        """Read the document of a program that was not read in the last hour.

        Raises InvalidClientError, RateLimited, Unavailable.
        """
        client_id, now = _form(request).get("client_id", ""), timezone.now()
        if clients.is_fresh(client_id, now=now):
            return
        self.spend(throttling.OAUTH_DOCUMENT)
        try:
            clients.read_document(client_id, by=client_address.household_of(request.META), now=now)
        except BadDocument as problem:
            raise InvalidClientError(problem.message) from problem


class TokenViewSet(OAuthViewSet):
    def create(self, request: Request) -> HttpResponseBase:
        """Give the key for a code."""
        self.spend(throttling.OAUTH_TOKEN)
        try:
            answer: HttpResponse = server.create_token_response(request._request)  # noqa: SLF001 # Django's own request
        except OAuth2Error as error:
            answer = _refused(error)
        return _secret(answer)


class DeviceViewSet(OAuthViewSet):
    def create(self, request: Request) -> HttpResponseBase:
        """Give a device its code, and the one that a person types."""
        self.spend(throttling.OAUTH_DEVICE)
        try:
            self.learn_client(request)
            answer: HttpResponse = server.create_endpoint_response("device_authorization", request._request)  # noqa: SLF001 # Django's own request
        except OAuth2Error as error:
            answer = _refused(error)
        return _secret(answer)


class RevokeViewSet(OAuthViewSet):
    def create(self, request: Request) -> HttpResponseBase:
        """Revoke the key. A token that is none of ours is answered with 200 too (RFC 7009)."""
        self.spend(throttling.OAUTH_TOKEN)
        token, now = _form(request).get("token", ""), timezone.now()
        if not token:
            return _secret(_refused(InvalidRequestError("token: missing")))
        try:
            key = keys.find(token, now=now)
        except InvalidKey:
            return _secret(JsonResponse({}))
        keys.revoke(key.user, key.pk, now=now)
        return _secret(JsonResponse({}))


class ServerMetadataViewSet(OAuthViewSet):
    def retrieve(self, request: Request) -> HttpResponseBase:
        return JsonResponse(metadata(), headers=PUBLIC)


class ResourceMetadataViewSet(OAuthViewSet):
    def retrieve(self, request: Request) -> HttpResponseBase:
        return JsonResponse(resource_metadata(), headers=PUBLIC)


def _form(request: Request) -> QueryDict:
    given: Any = request.data  # what BoundedForm read
    return cast("QueryDict", given)


def _refused(error: OAuth2Error) -> HttpResponse:
    status, body = json_of(error)
    return HttpResponse(body, status=status, content_type="application/json")


def _secret(answer: HttpResponse) -> HttpResponse:
    for name, value in SECRET.items():
        answer[name] = value
    return answer
