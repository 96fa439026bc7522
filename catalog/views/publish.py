"""POST /personas/{id}/publish"""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from catalog import authoring
from catalog.serializers.authors import PersonaEnvelope
from catalog.views.authored import AuthoredViewSet


class PublishViewSet(AuthoredViewSet):
    refusals = {"create": {400, 403}}

    @extend_schema(request=None, responses=PersonaEnvelope)
    def create(self, request: Request, id: str) -> Response:
        """Publish a persona of yours.

        It needs `name`, `tagline`, `forWho`, `does`, `category`, `tier` and `soul`, a `disclaimer` in every language
        when `risk` is high, and a question for each label of `does` where it has `doesExamples`: the 400 names the
        first field that is missing. It is in the catalog of every web process within a second, and an operator looks at
        it afterwards. Publishing what is published changes nothing.
        """
        return self.answer_persona(authoring.publish(self.writable(id), now=timezone.now()))
