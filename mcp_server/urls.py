from django.urls import path

from mcp_server.views import ConnectorMcpViewSet, McpViewSet

urlpatterns = [
    path("mcp", McpViewSet.as_view({"post": "create"})),
    path("oauth/mcp", ConnectorMcpViewSet.as_view({"post": "create"})),
]
