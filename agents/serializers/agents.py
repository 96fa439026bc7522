"""The wire shapes of agents (docs/spec.md: Agent, AgentQuota, AgentTools, McpServerConfig, A2aPeerPublic, Liveness,
…)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from agents.configuring.a2a import MAX_PEERS
from agents.configuring.channels import CHANNELS, MAX_SECRET_CHARACTERS, SECRET_NAMES
from agents.configuring.mcp_servers import MAX_ENV, MAX_HEADERS, MAX_SERVERS
from agents.configuring.profile import LANGS
from agents.engines import ENGINES
from agents.models import Agent, AgentQuota, QuotaStatus, Status
from agents.running import pods
from agents.talking import a2a_catalog
from agents.watching.quota import STALE_AFTER
from catalog.vocabulary import ENGINE_CHOICES, ENGINE_IDS, ProviderId, TierId, ToolService
from config.api import Choice, FieldNames, Flag, Serializer, Several, Text, TextMap, envelope
from config.crypto import readable
from config.numbers import QueryNumber

MAX_URL_CHARACTERS = 2_048


class McpServerSerializer(Serializer):
    """One MCP server: `command` (stdio) or `url` (HTTP). Values of `env` and `headers` are secrets."""

    name = Text()
    command = Text(required=False, max_length=1_000)
    args = Several(child=Text(allow_blank=True, max_length=4_000), required=False, max_length=64)
    env = TextMap(required=False, max_length=MAX_ENV)
    url = Text(required=False, max_length=MAX_URL_CHARACTERS)
    headers = TextMap(required=False, max_length=MAX_HEADERS)


class AgentToolsSerializer(Serializer):
    enabled = Several(child=Text(max_length=40), max_length=64)
    mcp_servers = Several(child=McpServerSerializer(), max_length=MAX_SERVERS)


class ToolSecretsSerializer(Serializer):
    """Write-only keys of the services that tools use; null forgets one, an absent one is kept."""

    def get_fields(self) -> dict[str, Any]:
        return {
            name: Text(required=False, allow_null=True, max_length=MAX_SECRET_CHARACTERS) for name in ToolService.values
        }


class PutAgentToolsSerializer(AgentToolsSerializer):
    """What `GET /tools?engine=…` says with `keyNeededOn` needs the key of its `service` in `secrets`."""

    secrets = ToolSecretsSerializer(required=False, write_only=True)


class A2aPeerPublicSerializer(Serializer):
    """A peer as it is shown; its bearer token is write-only."""

    name = serializers.CharField()
    url = serializers.URLField()


class AgentQuotaSerializer(Serializer):
    """The latest snapshot, about a minute old.

    A percentage is used / limit, 1 when full; null when a value is unknown or the snapshot is older than five minutes.
    """

    memory_used_bytes = serializers.IntegerField(allow_null=True)
    memory_limit_bytes = serializers.IntegerField(allow_null=True)
    memory_pct = serializers.SerializerMethodField()
    disk_used_bytes = serializers.IntegerField(allow_null=True)
    disk_total_bytes = serializers.IntegerField(allow_null=True)
    disk_pct = serializers.SerializerMethodField()
    status = serializers.ChoiceField(choices=QuotaStatus.choices)
    updated_at = serializers.DateTimeField()

    def get_memory_pct(self, quota: AgentQuota) -> float | None:
        return share(quota.memory_used_bytes, quota.memory_limit_bytes, updated_at=quota.updated_at, now=timezone.now())

    def get_disk_pct(self, quota: AgentQuota) -> float | None:
        return share(quota.disk_used_bytes, quota.disk_total_bytes, updated_at=quota.updated_at, now=timezone.now())


def share(used: int | None, of: int | None, *, updated_at: datetime, now: datetime) -> float | None:
    """The percentage, 1 when full. None for an unknown value and for a snapshot that is too old."""
    stale = now - updated_at > STALE_AFTER
    return None if stale or used is None or not of else used / of


class AgentSerializer(Serializer):
    """One pod, exactly as the spec lists it. The four webhook fields are there while a hook is."""

    id = serializers.CharField()
    user_id = serializers.CharField()
    persona_id = serializers.CharField()
    name = serializers.CharField()
    tier = serializers.ChoiceField(choices=TierId.values)
    channels = serializers.ListField(child=serializers.ChoiceField(choices=CHANNELS))
    created_at = serializers.DateTimeField()
    status = serializers.ChoiceField(choices=Status.choices)
    dseq = serializers.CharField(allow_null=True)
    endpoint_url = serializers.URLField(allow_null=True)
    llm_key_hash = serializers.CharField(allow_null=True)
    dash_username = serializers.CharField(allow_null=True)
    dash_password = serializers.CharField(allow_null=True)
    quota_status = serializers.SerializerMethodField()
    quota = serializers.SerializerMethodField()
    lang = serializers.ChoiceField(choices=LANGS)
    domain = serializers.CharField(allow_null=True)
    tools = serializers.SerializerMethodField()
    llm_provider = serializers.ChoiceField(choices=ProviderId.values, allow_null=True)
    last_backup_at = serializers.DateTimeField(allow_null=True)
    model = serializers.CharField(allow_null=True)
    engine = serializers.ChoiceField(choices=ENGINE_IDS)
    timezone = serializers.CharField(allow_null=True)
    a2a_token = serializers.CharField(allow_null=True)
    a2a_url = serializers.SerializerMethodField()
    extra_soul = serializers.CharField(allow_null=True)
    a2a_peers = A2aPeerPublicSerializer(many=True, allow_null=True)
    a2a_slug = serializers.CharField(source="slug", allow_null=True)
    trial_notice_day = serializers.IntegerField(allow_null=True)
    telegram_token_enc = serializers.SerializerMethodField()
    a2a_listed = serializers.BooleanField()
    webhook_url = serializers.CharField(source="hook.url", required=False)
    webhook_last_status = serializers.CharField(source="hook.last_status", required=False, allow_null=True)
    webhook_last_at = serializers.DateTimeField(source="hook.last_at", required=False, allow_null=True)
    webhook_last_event = serializers.CharField(source="hook.last_event", required=False, allow_null=True)

    def to_representation(self, instance: Agent) -> dict[str, Any]:
        body: dict[str, Any] = super().to_representation(readable(instance))
        if not hasattr(instance, "hook"):
            return {name: value for name, value in body.items() if not name.startswith("webhook")}
        return body

    @extend_schema_field(serializers.ChoiceField(choices=QuotaStatus.choices))
    def get_quota_status(self, agent: Agent) -> str:
        quota = _quota_of(agent)
        return quota.status if quota else QuotaStatus.OK.value

    @extend_schema_field(AgentQuotaSerializer(allow_null=True))
    def get_quota(self, agent: Agent) -> Any:
        quota = _quota_of(agent)
        return AgentQuotaSerializer(quota).data if quota else None

    @extend_schema_field(AgentToolsSerializer(allow_null=True))
    def get_tools(self, agent: Agent) -> Any:
        if agent.tools_enabled is None:
            return None
        servers = {"enabled": agent.tools_enabled, "mcp_servers": agent.mcp_servers}
        return AgentToolsSerializer(servers).data

    @extend_schema_field(serializers.URLField(allow_null=True))
    def get_a2a_url(self, agent: Agent) -> str | None:
        return pods.a2a_url(agent)

    @extend_schema_field(serializers.ChoiceField(choices=["set"], allow_null=True))
    def get_telegram_token_enc(self, agent: Agent) -> str | None:
        return "set" if "telegramToken" in agent.channel_secrets else None


def _quota_of(agent: Agent) -> AgentQuota | None:
    return getattr(agent, "quota_snapshot", None)


class PeerSerializer(Serializer):
    """A peer as it is given; the token is what our agent sends to it."""

    name = Text(max_length=80)
    url = serializers.URLField(max_length=MAX_URL_CHARACTERS)
    token = Text(required=False, allow_null=True, max_length=1_000, write_only=True)


class A2aSerializer(Serializer):
    enabled = Flag()
    listed = Flag(required=False)
    peers = Several(child=PeerSerializer(), max_length=MAX_PEERS, required=False)


class PutA2aSerializer(A2aSerializer):
    """What is absent stays. A peer's `token` that is absent is kept by the peer's name, while its address stays on the
    same host; null forgets it."""

    rotate_token = Flag(required=False)


class ChannelSecretsSerializer(Serializer):
    """Write-only secrets of channels; null forgets one, an absent one is kept."""

    def get_fields(self) -> dict[str, Any]:
        return {name: Text(required=False, allow_null=True, max_length=MAX_SECRET_CHARACTERS) for name in SECRET_NAMES}


class CreateAgentSerializer(Serializer):
    """All that may be said when creating an agent; only persona and tier must be."""

    persona_id = Text(max_length=80)
    tier = Choice(choices=TierId.values)
    engine = Choice(choices=list(ENGINES), required=False)
    name = Text(required=False)
    channels = Several(child=Choice(choices=CHANNELS), max_length=len(CHANNELS), required=False)
    channel_secrets = ChannelSecretsSerializer(required=False)
    telegram_token = Text(required=False, allow_null=True, max_length=MAX_SECRET_CHARACTERS)
    lang = Choice(choices=LANGS, required=False)
    timezone = Text(required=False, allow_null=True)
    domain = Text(required=False, allow_null=True)
    tools = PutAgentToolsSerializer(required=False, allow_null=True)
    llm_provider = Choice(choices=ProviderId.values, required=False, allow_null=True)
    llm_key = Text(required=False, allow_null=True, max_length=1_000)
    model = Text(required=False, allow_null=True)
    extra_soul = Text(required=False, allow_null=True, allow_blank=True)
    a2a = A2aSerializer(required=False, allow_null=True)
    webhook_url = Text(required=False, allow_null=True)


class PatchAgentSerializer(Serializer):
    name = Text(required=False)
    lang = Choice(choices=LANGS, required=False)
    timezone = Text(required=False, allow_null=True)
    extra_soul = Text(required=False, allow_null=True, allow_blank=True)
    tier = Choice(choices=TierId.values, required=False)


class LlmKeySerializer(Serializer):
    """`provider` and `key` install a key; `model` alone changes the model (null: the default)."""

    provider = Choice(choices=ProviderId.values, required=False)
    key = Text(required=False, max_length=1_000)
    model = Text(required=False, allow_null=True)


class ChannelsSerializer(Serializer):
    channels = Several(child=Choice(choices=CHANNELS), max_length=len(CHANNELS))
    channel_secrets = ChannelSecretsSerializer(required=False)
    telegram_token = Text(required=False, allow_null=True, max_length=MAX_SECRET_CHARACTERS)


class ChatSerializer(Serializer):
    message = Text()
    session_id = Text(required=False, allow_null=True)


class ReplyPartSerializer(Serializer):
    """What the agent gave beside its words, as its engine says; nobody looked into it.

    `file` {name, mediaType, bytes in base64}, `link` {name, mediaType, url}, `data` {data}, `note` {text} in the place
    of what could not be passed on.
    """

    kind = serializers.ChoiceField(choices=["file", "link", "data", "note"])
    name = serializers.CharField(required=False)
    media_type = serializers.CharField(required=False)
    bytes = serializers.CharField(required=False)
    url = serializers.CharField(required=False)
    data = serializers.JSONField(required=False)  # type: ignore[assignment]  # the name is the part's
    text = serializers.CharField(required=False)


class ReplySerializer(Serializer):
    reply = serializers.CharField()
    session_id = serializers.CharField()
    parts = ReplyPartSerializer(many=True, required=False)


class LivenessSerializer(Serializer):
    reachable = serializers.BooleanField(allow_null=True)
    serving = serializers.BooleanField(allow_null=True)


class RememberedSerializer(Serializer):
    name = serializers.CharField()
    content = serializers.CharField()


class AgentMemorySerializer(Serializer):
    soul = serializers.CharField()
    skills = serializers.ListField(child=serializers.CharField())
    memories = RememberedSerializer(many=True)
    sessions_count = serializers.IntegerField()


class ExplanationSerializer(Serializer):
    """The most urgent cause. Other causes are lines of `evidence` that begin with `also`, the more urgent first."""

    status = serializers.ChoiceField(choices=Status.choices)
    cause = serializers.CharField()
    message = serializers.CharField()
    since = serializers.DateTimeField()
    evidence = serializers.ListField(child=serializers.CharField(), source="lines")
    next = serializers.CharField(allow_null=True)


class TicketSerializer(Serializer):
    url = serializers.URLField()
    expires_at = serializers.DateTimeField()


class TalkTestHopSerializer(Serializer):
    """One hop: `gateway`, `engine`, `model`, or a channel. `ms` is null when it was not tried."""

    hop = serializers.CharField()
    ok = serializers.BooleanField()
    ms = serializers.IntegerField(allow_null=True)
    error = serializers.CharField(allow_null=True)


class TalkTestSerializer(Serializer):
    """`ok` when no hop is silent."""

    ok = serializers.BooleanField()
    hops = TalkTestHopSerializer(many=True)


class FindA2aSerializer(Serializer):
    """The query of `GET /a2a-catalog`."""

    q = Text(required=False, allow_blank=True, max_length=a2a_catalog.MAX_WORDS_CHARACTERS)
    limit = QueryNumber(min_value=1, max_value=a2a_catalog.MAX_PAGE, required=False)
    cursor = Text(required=False, max_length=200)


class A2aListingSerializer(Serializer):
    """An agent as strangers see it. `personaId` is null where its persona is not public."""

    id = serializers.CharField()
    name = serializers.CharField()
    persona_id = serializers.CharField(allow_null=True)
    description = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    lang = serializers.ChoiceField(choices=LANGS)
    engine = serializers.ChoiceField(choices=ENGINE_CHOICES)
    a2a_url = serializers.URLField()
    card_url = serializers.URLField()
    updated_at = serializers.DateTimeField()


# Envelopes.


AgentEnvelope = envelope("AgentEnvelope", agent=AgentSerializer())
AgentsEnvelope = envelope("AgentsEnvelope", agents=AgentSerializer(many=True))


class CreatedAgentEnvelope(Serializer):
    """The secret of the webhook is shown only here; null without a webhook."""

    agent = AgentSerializer()
    webhook_secret = serializers.CharField(allow_null=True)


A2aCatalogEnvelope = envelope("A2aCatalogEnvelope", agents=A2aListingSerializer(many=True))


class QuotaEnvelope(Serializer):
    """Null before the first measurement."""

    quota = AgentQuotaSerializer(allow_null=True)


LivenessEnvelope = envelope("LivenessEnvelope", liveness=LivenessSerializer())
MemoryEnvelope = envelope("MemoryEnvelope", memory=AgentMemorySerializer())
ExplanationEnvelope = envelope("ExplanationEnvelope", explanation=ExplanationSerializer())
TicketEnvelope = envelope("TicketEnvelope", ticket=TicketSerializer())


class ListAgentsSerializer(Serializer):
    """The query of `GET /agents`."""

    status = Choice(choices=[choice for choice in Status.values if choice != Status.DELETED], required=False)
    limit = QueryNumber(min_value=1, max_value=1_000, required=False)
    cursor = Text(required=False, max_length=200)
    fields = FieldNames(of=AgentSerializer)  # type: ignore[assignment]  # a declared field; REST framework moves it


class ReadAgentSerializer(Serializer):
    """The query of `GET /agents/{id}`."""

    fields = FieldNames(of=AgentSerializer)  # type: ignore[assignment]


TalkTestEnvelope = envelope("TalkTestEnvelope", talk_test=TalkTestSerializer())
