"""The paths of `/agents` and below, and of the public directory."""

from __future__ import annotations

from typing import Any

from django.urls import path

from agents.views.a2a import A2aViewSet
from agents.views.a2a_catalog import A2aCatalogViewSet
from agents.views.account_limits import AccountLimitsViewSet
from agents.views.agents import AgentsViewSet
from agents.views.ai_catalog import AiCatalogViewSet
from agents.views.backups import BackupsViewSet
from agents.views.channels import ChannelsViewSet
from agents.views.chat import ChatViewSet
from agents.views.completions import CompletionsViewSet
from agents.views.deliveries import DeliveriesViewSet
from agents.views.domain import DomainViewSet
from agents.views.domain_check import DomainCheckViewSet
from agents.views.egress import EgressLogViewSet, EgressSecretsViewSet, EgressViewSet
from agents.views.events import AccountEventsViewSet, EventsViewSet
from agents.views.explain import ExplainViewSet
from agents.views.key_limits import KeyLimitsViewSet
from agents.views.limits import LimitsViewSet
from agents.views.liveness import LivenessViewSet
from agents.views.llm_key import LlmKeyViewSet
from agents.views.logs import LogsViewSet
from agents.views.mcp_test import McpTestViewSet
from agents.views.memory import MemoryViewSet
from agents.views.models import AgentModelsViewSet
from agents.views.pause import PauseViewSet
from agents.views.quota import QuotaViewSet
from agents.views.rebuild import RebuildViewSet
from agents.views.replay import ReplayViewSet
from agents.views.restore import RestoreViewSet
from agents.views.resume import ResumeViewSet
from agents.views.talk_test import TalkTestViewSet
from agents.views.ticket import TicketViewSet
from agents.views.tools import ToolsViewSet
from agents.views.usage import UsageViewSet
from agents.views.webhook import WebhookViewSet
from agents.views.whatsapp import WhatsappViewSet

one: dict[str, Any] = {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}

urlpatterns = [
    path(".well-known/ai-catalog.json", AiCatalogViewSet.as_view({"get": "retrieve"})),
    path("a2a-catalog", A2aCatalogViewSet.as_view({"get": "list"})),
    path("agents", AgentsViewSet.as_view({"get": "list", "post": "create"})),
    path("agents/<str:id>", AgentsViewSet.as_view(one)),
    path("agents/<str:id>/pause", PauseViewSet.as_view({"post": "create"})),
    path("agents/<str:id>/resume", ResumeViewSet.as_view({"post": "create"})),
    path("agents/<str:id>/rebuild", RebuildViewSet.as_view({"post": "create"})),
    path("agents/<str:id>/llm-key", LlmKeyViewSet.as_view({"patch": "partial_update", "delete": "destroy"})),
    path("agents/<str:id>/tools", ToolsViewSet.as_view({"put": "update"})),
    path("agents/<str:id>/a2a", A2aViewSet.as_view({"put": "update"})),
    path("agents/<str:id>/channels", ChannelsViewSet.as_view({"put": "update"})),
    path("agents/<str:id>/channels/whatsapp", WhatsappViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("agents/<str:id>/chat", ChatViewSet.as_view({"post": "create"})),
    path("agents/<str:id>/v1/chat/completions", CompletionsViewSet.as_view({"post": "create"})),
    path("agents/<str:id>/v1/models", AgentModelsViewSet.as_view({"get": "list"})),
    path("agents/<str:id>/v1/models/<str:model>", AgentModelsViewSet.as_view({"get": "retrieve"})),
    path("agents/<str:id>/domain", DomainViewSet.as_view({"put": "update", "delete": "destroy"})),
    path("me/limits", AccountLimitsViewSet.as_view({"get": "retrieve", "put": "update"})),
    path("keys/<str:id>/limits", KeyLimitsViewSet.as_view({"get": "retrieve", "put": "update"})),
    path("events", AccountEventsViewSet.as_view({"get": "list"})),
    path("domain-check", DomainCheckViewSet.as_view({"get": "retrieve"})),
    path("agents/<str:id>/talk-test", TalkTestViewSet.as_view({"post": "create"})),
    path("agents/<str:id>/mcp-test", McpTestViewSet.as_view({"post": "create"})),
    path("agents/<str:id>/liveness", LivenessViewSet.as_view({"get": "retrieve"})),
    path("agents/<str:id>/logs", LogsViewSet.as_view({"get": "list"})),
    path("agents/<str:id>/backups", BackupsViewSet.as_view({"get": "list", "post": "create"})),
    path("agents/<str:id>/backups/<str:name>", BackupsViewSet.as_view({"get": "retrieve", "delete": "destroy"})),
    path("agents/<str:id>/backups/<str:name>/restore", RestoreViewSet.as_view({"post": "create"})),
    path("agents/<str:id>/memory", MemoryViewSet.as_view({"get": "retrieve"})),
    path("agents/<str:id>/quota", QuotaViewSet.as_view({"get": "retrieve"})),
    path("agents/<str:id>/usage", UsageViewSet.as_view({"get": "retrieve"})),
    path("agents/<str:id>/limits", LimitsViewSet.as_view({"get": "retrieve", "put": "update"})),
    path("agents/<str:id>/replay", ReplayViewSet.as_view({"get": "list", "put": "update", "delete": "destroy"})),
    path("agents/<str:id>/egress", EgressViewSet.as_view({"get": "retrieve", "put": "update"})),
    path("agents/<str:id>/egress/log", EgressLogViewSet.as_view({"get": "retrieve"})),
    path(
        "agents/<str:id>/egress/secrets/<str:name>",
        EgressSecretsViewSet.as_view({"put": "update", "delete": "destroy"}),
    ),
    path("agents/<str:id>/explain", ExplainViewSet.as_view({"get": "retrieve"})),
    path("agents/<str:id>/ticket", TicketViewSet.as_view({"post": "create"})),
    path("agents/<str:id>/webhook", WebhookViewSet.as_view({"put": "update", "delete": "destroy"})),
    path("agents/<str:id>/webhook/test", WebhookViewSet.as_view({"post": "test"})),
    path("agents/<str:id>/webhook/deliveries", DeliveriesViewSet.as_view({"get": "list"})),
    path(
        "agents/<str:id>/webhook/deliveries/<str:delivery>/redeliver", DeliveriesViewSet.as_view({"post": "redeliver"})
    ),
    path("agents/<str:id>/events", EventsViewSet.as_view({"get": "list"})),
]
