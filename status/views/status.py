from __future__ import annotations

from django.conf import settings
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from config.api import ApiViewSet
from status import components
from status.serializers import PlatformSerializer


class StatusViewSet(ApiViewSet):
    authentication_classes = ()
    permission_classes = ()
    serializer_class = PlatformSerializer

    def retrieve(self, request: Request) -> Response:
        """The platform's health, always 200.

        `down`: the database does not answer. `degraded`: another component is down, a periodic loop is late, or an open
        incident names a component. `mail` is `down` while the mail server takes no mail, as the last one showed. A
        loop's `checkedAt` is its last success; that of `models` is when the prices of the models were last looked up.
        `catalogUpdatedAt` is when the catalog last changed or was found current."""
        platform = components.platform(now=timezone.now())
        platform_fields = {
            "status": platform.status,
            "components": platform.components,
            "version": settings.VERSION,
            "catalog_updated_at": platform.catalog_updated_at,
        }
        return Response(self.get_serializer(platform_fields).data)
