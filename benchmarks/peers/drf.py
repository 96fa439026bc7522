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

from agents.models import Agent

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


class TutorialAgents:
    serializer_class = TutorialAgentSerializer
    lookup_url_kwarg = "id"

    def get_queryset(self) -> QuerySet[Agent]:
        request: Any = self.request  # type: ignore[attr-defined] # of the view that this is mixed into
        own = Agent.objects.filter(user=request.user).exclude(desired="deleted")
        return own.select_related("hook", "quota_snapshot").order_by("-created_at", "-id")


class TutorialAgent(TutorialAgents, generics.RetrieveAPIView[Agent]):
    def retrieve(self, *args: Any, **kwargs: Any) -> Any:
        answer = super().retrieve(*args, **kwargs)
        answer.data = {"agent": answer.data}
        return answer


class TutorialAgentList(TutorialAgents, generics.ListAPIView[Agent]):
    def list(self, *args: Any, **kwargs: Any) -> Any:
        answer = super().list(*args, **kwargs)
        answer.data = {"agents": answer.data}
        return answer


urlpatterns = [path("agents/<id>", TutorialAgent.as_view()), path("agents", TutorialAgentList.as_view())]
