"""GET /keys, POST /keys, DELETE /keys/{id}"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import keys
from accounts.authentication import caller
from accounts.permissions import SessionOnly
from accounts.serializers import KeyNameSerializer, KeysSerializer, NewKeySerializer
from config.api import ApiViewSet

_KEY: dict[str, Any] = {
    "id": "key_9a1f6c0d4be2857730fe61a2",
    "name": "my agent",
    "prefix": "ak_live_7Qm2",
    "createdAt": "2026-11-21T06:30:00Z",
    "lastUsedAt": None,
    "revokedAt": None,
}


class KeysViewSet(ApiViewSet):
    serializer_class = KeyNameSerializer
    refusals = {"create": {403}, "destroy": {403}}

    def get_permissions(self) -> list[BasePermission]:
        return [IsAuthenticated()] if self.action == "list" else [IsAuthenticated(), SessionOnly()]

    @extend_schema(
        parameters=[OpenApiParameter("cursor", str, description="From the `Link` header of the page before.")],
        responses={200: KeysSerializer},
        examples=[OpenApiExample("One key", value={"keys": [_KEY]}, response_only=True)],
    )
    def list(self, request: Request) -> Response:
        """List your API keys.

        Newest first, revoked ones too; secrets are never included. More than 1,000 come in pages: the next one is in
        the header `Link: <…>; rel="next"`. Changes nothing.
        """
        page, cursor = keys.page(caller(request), after=request.query_params.get("cursor"))
        headers = {} if cursor is None else {"Link": f'<{settings.BASE_URL}/keys?cursor={cursor}>; rel="next"'}
        return Response(KeysSerializer({"keys": page}).data, headers=headers)

    @extend_schema(
        responses={200: NewKeySerializer},
        examples=[
            OpenApiExample("A name", value={"name": "my agent"}, request_only=True),
            OpenApiExample("The key", value={"key": _KEY, "secret": "ak_live_7Qm2…"}, response_only=True),
        ],
    )
    def create(self, request: Request) -> Response:
        """Create an API key.

        An agent may use the key in your place until you revoke it. The secret is shown only in this answer. Only a
        session token may create keys. 400 past 100 live keys (or what the operator allows): revoke one first.
        """
        key, secret = keys.create(caller(request), **self.valid(request), now=timezone.now())
        return Response(NewKeySerializer({"key": key, "secret": secret}).data)

    @extend_schema(request=None, responses={204: None})
    def destroy(self, request: Request, id: str) -> Response:
        """Revoke an API key.

        The key answers 401 from its next use on and stays in the list. This cannot be undone; revoking it again is 204
        too. Only a session token may revoke keys.
        """
        keys.revoke(caller(request), id, now=timezone.now())
        return Response(status=204)
