"""What the endpoints of authors share: access to the caller's personas, and actions that need no credential."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import AllowAny, BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from catalog import authoring
from catalog.models import Persona
from catalog.serializers.authors import PersonaEnvelope
from config.api import ApiViewSet


class AuthoredViewSet(ApiViewSet):
    open_actions: ClassVar[Collection[str]] = ()
    queryset = Persona.objects.none()  # gives {id} its type in the OpenAPI document; the rows come from the rules

    def initialize_request(self, request: Any, *args: Any, **kwargs: Any) -> Request:
        """Set the action early: REST framework asks for the authenticators before it sets the action."""
        self.action = self.action_map.get(request.method.lower(), "")
        return super().initialize_request(request, *args, **kwargs)

    def get_authenticators(self) -> list[BaseAuthentication]:
        """The authenticators.

        None for open actions, and for unknown methods: those are answered 405 without a credential.
        """
        return [] if self._is_open() else [one() for one in ApiViewSet.authentication_classes]

    def get_permissions(self) -> list[BasePermission]:
        return [AllowAny() if self._is_open() else IsAuthenticated()]

    def _is_open(self) -> bool:
        return self.action not in self.action_map.values() or self.action in self.open_actions

    def caller_id(self) -> str:
        return str(self.request.user.pk)

    def writable(self, id: str) -> Persona:
        """The caller's persona of this id, for a write. Raises NotYours, BuiltIn."""
        return authoring.writable(self.caller_id(), id)

    def answer_persona(self, persona: Persona) -> Response:
        return Response(PersonaEnvelope({"persona": persona}).data)
