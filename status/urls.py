from django.urls import path

from status.views.health import HealthViewSet
from status.views.incidents import IncidentsViewSet
from status.views.ready import ReadyViewSet
from status.views.status import StatusViewSet

urlpatterns = [
    path("health", HealthViewSet.as_view({"get": "retrieve"})),
    path("health/ready", ReadyViewSet.as_view({"get": "retrieve"})),
    path("status", StatusViewSet.as_view({"get": "retrieve"})),
    path("status/incidents", IncidentsViewSet.as_view({"get": "list"})),
]
