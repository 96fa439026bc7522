"""What the endpoints of authors share: whose personas they are, and which actions need no credential."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import AllowAny, BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from catalog import authoring
from catalog.author_serializers import PersonaEnvelope
from catalog.models import Persona
from config.api import ApiViewSet


class AuthoredViewSet(ApiViewSet):
    open_actions: ClassVar[Collection[str]] = ()
    queryset = Persona.objects.none()  # the type of {id} for the OpenAPI document; rows come from the rules

    def initialize_request(self, request: Any, *args: Any, **kwargs: Any) -> Request:
        """REST framework asks for the authenticators before it says which action it is."""
        self.action = self.action_map.get(request.method.lower(), "")
        return super().initialize_request(request, *args, **kwargs)

    def get_authenticators(self) -> list[BaseAuthentication]:
        """None for what is open, and for methods that are not there: those are told so, not asked who they are."""
        return [] if self._is_open() else [one() for one in ApiViewSet.authentication_classes]

    def get_permissions(self) -> list[BasePermission]:
        return [AllowAny() if self._is_open() else IsAuthenticated()]

    def _is_open(self) -> bool:
        return self.action not in self.action_map.values() or self.action in self.open_actions

    def caller_id(self) -> str:
        return str(self.request.user.pk)

    def writable(self, id: str) -> Persona:
        """The caller's persona of this id, for a write."""
        return authoring.writable(self.caller_id(), id)

    def answer_persona(self, persona: Persona) -> Response:
        return Response(PersonaEnvelope({"persona": persona}).data)
