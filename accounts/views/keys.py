"""GET /keys, POST /keys, DELETE /keys/{id}"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import keys
from accounts.authentication import caller, limited_key
from accounts.models import ApiKey
from accounts.permissions import SessionOnly
from accounts.serializers import (
    CreateKeySerializer,
    KeysSerializer,
    ListKeysSerializer,
    NewKeySerializer,
    ShownKeySerializer,
)
from config.api import ApiViewSet

_KEY: dict[str, Any] = {
    "id": "key_9a1f6c0d4be2857730fe61a2",
    "name": "my agent",
    "prefix": "ak_live_7Qm2",
    "createdAt": "2026-11-21T06:30:00Z",
    "lastUsedAt": None,
    "revokedAt": None,
}
_LIMITED: dict[str, Any] = {
    "name": "my agent",
    "scopes": ["read", "pay"],
    "agentId": "agt_9a1f6c0d4be2857730fe61a2",
    "expiresAt": "2027-01-01T00:00:00Z",
    "spendLimitUsd": 50,
}
_DRIVER: dict[str, Any] = {"name": "my driver", "scopes": ["operate"], "usdPerDay": 2.5, "usdPerMonth": 25}


class KeysViewSet(ApiViewSet):
    serializer_class = CreateKeySerializer
    own_fields = ("list",)  # it has more of them than its answer shows
    refusals = {"create": {403}, "destroy": {403}}

    def get_permissions(self) -> list[BasePermission]:
        return [IsAuthenticated()] if self.action == "list" else [IsAuthenticated(), SessionOnly()]

    @extend_schema(
        parameters=[ListKeysSerializer],
        responses={200: KeysSerializer},
        examples=[OpenApiExample("One key", value={"keys": [_KEY]}, response_only=True)],
    )
    def list(self, request: Request) -> Response:
        """List your API keys.

        Newest first, revoked ones too; secrets are never included. More than 1,000 come in pages: the next one is in
        the header `Link: <…>; rel="next"`. `fields` also shows the limits of keys: `scopes` (null for a full key),
        `agentId`, `expiresAt`, `spendLimitUsd`, `usdPerDay`, `usdPerMonth`. A limited key sees itself alone. Changes
        nothing.
        """
        query, limited = self.query(ListKeysSerializer), limited_key(request)
        page, cursor = keys.page(
            caller(request), only=limited.pk if limited else None, after=request.query_params.get("cursor")
        )
        return Response(_listed(page, query.get("fields")), headers=_next(cursor, request))

    @extend_schema(
        responses={200: NewKeySerializer},
        examples=[
            OpenApiExample("A name", value={"name": "my agent"}, request_only=True),
            OpenApiExample("A limited key", value=_LIMITED, request_only=True),
            OpenApiExample("A key whose turns are limited", value=_DRIVER, request_only=True),
            OpenApiExample("The key", value={"key": _KEY, "secret": "ak_live_7Qm2…"}, response_only=True),
        ],
    )
    def create(self, request: Request) -> Response:
        """Create an API key.

        An agent may use the key in your place until you revoke it. The secret is shown only in this answer. Only a
        session token may create keys. 400 past 100 live keys (or what the operator allows): revoke one first.

        With `scopes` it is a limited key. `read` reads; `operate` also creates, changes, talks to and deletes agents
        and personas; `pay` also orders and cancels plans. Other calls, such as those about the account and its keys,
        are 403, and so is what its scopes do not cover. `agentId` narrows the key to one agent: other agents are 404,
        and it creates none. From `expiresAt` on the key is 401. `spendLimitUsd` is the most that the key's orders may
        cost together; such a key does not order by card, which is charged again each period. `usdPerDay` and
        `usdPerMonth` are the most that model calls may cost in turns that the key starts, with all agents
        (`PUT /keys/{id}/limits` changes them); such a key opens no agent's page. Passwords, tokens and
        licence keys are null or `hidden` for a key that may only read, those of agents for such a key too.
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


def _listed(page: list[ApiKey], fields: Collection[str] | None) -> dict[str, Any]:
    if fields is None:
        return dict(KeysSerializer({"keys": page}).data)
    return {"keys": ShownKeySerializer(page, many=True, only=fields).data}


def _next(cursor: str | None, request: Request) -> dict[str, str]:
    if cursor is None:
        return {}
    fields = request.query_params.get("fields")
    query = urlencode({"cursor": cursor} if fields is None else {"cursor": cursor, "fields": fields})
    return {"Link": f'<{settings.BASE_URL}/keys?{query}>; rel="next"'}
