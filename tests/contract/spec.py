"""The tables of docs/spec.md, as sets of field names."""

from __future__ import annotations


def names(text: str) -> set[str]:
    return set(text.split())


AGENT = names(
    """id userId personaId name tier channels createdAt status dseq endpointUrl llmKeyHash dashUsername dashPassword
    quotaStatus quota lang domain tools llmProvider lastBackupAt model engine timezone a2aToken a2aUrl extraSoul
    a2aPeers a2aSlug trialNoticeDay telegramTokenEnc a2aListed"""
)
AGENT_WEBHOOK = names("webhookUrl webhookLastStatus webhookLastAt webhookLastEvent")
AGENT_TERM = names("mode stopsAt deletesAt paidTill paidProvider renewUrl")
AGENT_QUOTA = names("memoryUsedBytes memoryLimitBytes memoryPct diskUsedBytes diskTotalBytes diskPct status updatedAt")
ENGINE = names("id label description requiresDomain minTier status capabilities")
CAPABILITIES = names("skills mcp skillRegistry skillUninstall llmKey model sso dashCredentials")
CAPABILITIES_OPTIONAL = {"llmProviders"}
TIER = names("id name spec monthlyUsd annualUsd")
PERSONA = names(
    """id icon name tagline forWho does skills channels category tags tier spec price risk disclaimer author status soul
    deployedCount recommendedModels"""
)
PERSONA_OPTIONAL = names("doesExamples demo ru es pt tr ind authorId")
PERSONA_L10N = names("name tagline forWho does")
PERSONA_L10N_OPTIONAL = names("disclaimer doesExamples demo")
DEMO_LINE = names("role text")
API_KEY = names("id name prefix createdAt lastUsedAt revokedAt")
MODEL = names("id provider name label costTier")
LLM_PROVIDER = names("id label envVar")
TOOLSET = names(
    "id name description defaultEnabled group engines keyNeededOn"
)  # the last two are our own additions, as `service` is
TOOLSET_OPTIONAL = {"plugin", "service"}
LIVENESS = names("reachable serving")
WEBHOOK = names("url secret events")
WEBHOOK_EVENT = names("id type createdAt agent data")
WEBHOOK_EVENT_AGENT = names("id status name engine tier endpointUrl")
ERROR = names("error message")

EVENT_TYPES = [
    "agent.running",
    "agent.stopped",
    "agent.failed",
    "agent.deleted",
    "payment.confirmed",
    "deletion.warning",
    "test",
]
CODES = names("BAD_REQUEST UNAUTHORIZED INVALID_CODE FORBIDDEN NOT_FOUND CONFLICT RATE_LIMITED INTERNAL")

# By component of the OpenAPI document: fields that are always there, and fields that are sometimes there.
COMPONENTS: dict[str, tuple[set[str], set[str]]] = {
    "Agent": (AGENT, AGENT_WEBHOOK),
    "AgentQuota": (AGENT_QUOTA, set()),
    "AgentTerm": (AGENT_TERM, set()),
    "AgentTools": (names("enabled mcpServers"), set()),
    "McpServer": ({"name"}, names("command args env url headers")),
    "A2aPeerPublic": (names("name url"), set()),
    "Engine": (ENGINE, set()),
    "EngineCapabilities": (CAPABILITIES, CAPABILITIES_OPTIONAL),
    "Tier": (TIER, set()),
    "Persona": (PERSONA, PERSONA_OPTIONAL),
    "PersonaL10n": (PERSONA_L10N, PERSONA_L10N_OPTIONAL),
    "DemoLine": (DEMO_LINE, set()),
    "ApiKey": (API_KEY, set()),
    "ModelInfo": (MODEL, set()),
    "LlmProviderInfo": (LLM_PROVIDER, set()),
    "ToolsetInfo": (TOOLSET, TOOLSET_OPTIONAL),
    "Liveness": (LIVENESS, set()),
    "WebhookEvent": (WEBHOOK_EVENT, set()),
    "WebhookDelivery": (names("ok status attempts"), {"error"}),
    "Delivery": (names("id type state status error attempts durationMs createdAt finishedAt"), set()),
    "Error": (ERROR, set()),
}
