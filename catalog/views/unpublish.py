"""POST /personas/{id}/unpublish"""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from catalog import authoring
from catalog.serializers.authors import PersonaEnvelope
from catalog.views.authored import AuthoredViewSet


class UnpublishViewSet(AuthoredViewSet):
    refusals = {"create": {403}}

    @extend_schema(request=None, responses=PersonaEnvelope)
    def create(self, request: Request, id: str) -> Response:
        """Take a persona of yours off the catalog.

        It becomes a draft again; nobody can make new agents from it. Agents that have it keep their soul and their
        model and run on. Unpublishing a draft changes nothing.
        """
        return self.answer_persona(authoring.unpublish(self.writable(id), now=timezone.now()))
