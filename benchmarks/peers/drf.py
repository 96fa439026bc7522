"""Agents as a tutorial of DRF would show them: a ModelSerializer and two generic views. The JSON is ours."""

# ruff: noqa: N815 # the names of the API

from __future__ import annotations

import secrets
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser
from django.db import connection
from django.db.models import QuerySet
from django.urls import path
from rest_framework import generics, serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from agents.models import Agent, Desired

TOKENS = """
CREATE TABLE authtoken_token (
    key varchar(40) PRIMARY KEY, created timestamptz NOT NULL,
    user_id varchar(40) NOT NULL UNIQUE REFERENCES accounts_user (id)
)
"""


def token_of(user: AbstractBaseUser) -> str:
    """A token in the table of rest_framework.authtoken, which is made here: no other program needs it."""
    key = secrets.token_hex(20)
    with connection.cursor() as cursor:
        cursor.execute(TOKENS)
        cursor.execute("INSERT INTO authtoken_token VALUES (%s, now(), %s)", [key, user.pk])
    return key


class TutorialAgentSerializer(serializers.ModelSerializer[Agent]):
    userId = serializers.CharField(source="user_id")
    personaId = serializers.CharField(source="persona_id")
    createdAt = serializers.DateTimeField(source="created_at")
    endpointUrl = serializers.CharField(source="endpoint_url")
    llmKeyHash = serializers.CharField(source="llm_key_hash")
    dashUsername = serializers.CharField(source="dash_username")
    dashPassword = serializers.CharField(source="dash_password")
    quotaStatus = serializers.SerializerMethodField()
    quota = serializers.SerializerMethodField(method_name="nothing")
    tools = serializers.SerializerMethodField(method_name="nothing")
    llmProvider = serializers.CharField(source="llm_provider")
    lastBackupAt = serializers.DateTimeField(source="last_backup_at")
    a2aToken = serializers.CharField(source="a2a_token")
    a2aUrl = serializers.SerializerMethodField(method_name="nothing")
    extraSoul = serializers.CharField(source="extra_soul")
    a2aPeers = serializers.SerializerMethodField(method_name="nothing")
    a2aSlug = serializers.CharField(source="slug")
    trialNoticeDay = serializers.IntegerField(source="trial_notice_day")
    telegramTokenEnc = serializers.SerializerMethodField()
    a2aListed = serializers.BooleanField(source="a2a_listed")
    webhookUrl = serializers.CharField(source="hook.url")
    webhookLastStatus = serializers.IntegerField(source="hook.last_status")
    webhookLastAt = serializers.DateTimeField(source="hook.last_at")
    webhookLastEvent = serializers.CharField(source="hook.last_event")

    class Meta:
        model = Agent
        fields: ClassVar = [
            *("id", "userId", "personaId", "name", "tier", "channels", "createdAt", "status", "dseq", "endpointUrl"),
            *("llmKeyHash", "dashUsername", "dashPassword", "quotaStatus", "quota", "lang", "domain", "tools"),
            *("llmProvider", "lastBackupAt", "model", "engine", "timezone", "a2aToken", "a2aUrl", "extraSoul"),
            *("a2aPeers", "a2aSlug", "trialNoticeDay", "telegramTokenEnc", "a2aListed", "webhookUrl"),
            *("webhookLastStatus", "webhookLastAt", "webhookLastEvent"),
        ]

    def get_quotaStatus(self, agent: Agent) -> str:  # noqa: N802 # DRF's name for the method of `quotaStatus`
        snapshot = getattr(agent, "quota_snapshot", None)
        return snapshot.status if snapshot else "ok"

    def get_telegramTokenEnc(self, agent: Agent) -> str | None:  # noqa: N802
        return "set" if "telegramToken" in agent.channel_secrets else None

    def nothing(self, agent: Agent) -> None:
        return None


def own_agents(view: APIView) -> QuerySet[Agent]:
    own = Agent.objects.filter(user_id=view.request.user.pk).exclude(desired=Desired.DELETED)
    return own.select_related("hook", "quota_snapshot").order_by("-created_at", "-id")


class TutorialAgent(generics.RetrieveAPIView[Agent]):
    serializer_class = TutorialAgentSerializer
    lookup_url_kwarg = "id"
    get_queryset = own_agents

    def retrieve(self, *args: Any, **kwargs: Any) -> Response:
        return Response({"agent": super().retrieve(*args, **kwargs).data})


class TutorialAgentList(generics.ListAPIView[Agent]):
    serializer_class = TutorialAgentSerializer
    get_queryset = own_agents

    def list(self, *args: Any, **kwargs: Any) -> Response:
        return Response({"agents": super().list(*args, **kwargs).data})


urlpatterns = [path("agents/<id>", TutorialAgent.as_view()), path("agents", TutorialAgentList.as_view())]
