"""The objects of the API. Generated from openapi.yaml: `make sdk` writes it."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class A2aListing(TypedDict):
    """
    An agent as strangers see it. `personaId` is null where its persona is not public.
    """

    id: str
    name: str
    personaId: str | None
    description: str
    tags: list[str]
    lang: Literal["en", "ru"]
    engine: Literal["hermes", "openclaw", "n8n", "claude-code", "opencode", "pi"]
    a2aUrl: str
    cardUrl: str
    updatedAt: str


class A2aPeerPublic(TypedDict):
    """
    A peer as it is shown; its bearer token is write-only.
    """

    name: str
    url: str


class AccountLimits(TypedDict):
    usdPerDay: float | None
    usdPerMonth: float | None
    stopped: bool


class AccountLimitsEnvelope(TypedDict):
    limits: AccountLimits


class AgentModel(TypedDict):
    """
    The agent, as a model that a client can choose.
    """

    id: str
    object: str
    created: int
    owned_by: str


class AgentModels(TypedDict):
    object: str
    data: list[AgentModel]


class AgentQuota(TypedDict):
    """
    The latest snapshot, about a minute old.

    A percentage is used / limit, 1 when full; null when a value is unknown or the snapshot is older than five minutes.
    """

    memoryUsedBytes: int | None
    memoryLimitBytes: int | None
    memoryPct: float | None
    diskUsedBytes: int | None
    diskTotalBytes: int | None
    diskPct: float | None
    status: Literal["ok", "warn", "grace", "paused"]
    updatedAt: str


class AgentTerm(TypedDict):
    mode: Literal["trial", "grace", "paid", "internal"]
    stopsAt: str | None
    deletesAt: str | None
    paidTill: str | None
    paidProvider: str | None
    renewUrl: str


EnabledItem: TypeAlias = str


class ApiKey(TypedDict):
    id: str
    name: str
    prefix: str
    createdAt: str
    lastUsedAt: str | None
    revokedAt: str | None


class Article(TypedDict):
    id: str
    personaId: str
    slug: str
    title: str
    summary: str
    lang: Literal["en", "ru", "es", "pt", "tr", "ind"]
    status: Literal["draft", "published"]
    createdAt: str
    updatedAt: str
    body: str


class ArticleEnvelope(TypedDict):
    article: Article


class ArticleInfo(TypedDict):
    id: str
    personaId: str
    slug: str
    title: str
    summary: str
    lang: Literal["en", "ru", "es", "pt", "tr", "ind"]
    status: Literal["draft", "published"]
    createdAt: str
    updatedAt: str


class AskMcpServerRequest(TypedDict):
    name: str


class Asset(TypedDict):
    asset: Literal["usdt", "usdc"]
    symbol: str


class AttributionRequest(TypedDict):
    """
    Where the person came from.
    """

    anonId: str
    utmSource: NotRequired[str | None]
    utmMedium: NotRequired[str | None]
    utmCampaign: NotRequired[str | None]
    referrer: NotRequired[str | None]


class Author(TypedDict):
    id: str
    name: str


class AuthorEnvelope(TypedDict):
    author: Author


class BackupEntry(TypedDict):
    """
    One backup. `size` is of the data in it, in bytes.
    """

    name: str
    size: int
    createdAt: str


class BackupEnvelope(TypedDict):
    backup: BackupEntry


class BackupsEnvelope(TypedDict):
    backups: list[BackupEntry]


class BillingDetails(TypedDict):
    name: NotRequired[str]
    address: NotRequired[str]
    country: NotRequired[str]
    taxId: NotRequired[str]


class BillingDetailsEnvelope(TypedDict):
    billingDetails: BillingDetails


class BillingDetailsRequest(TypedDict):
    name: NotRequired[str]
    address: NotRequired[str]
    country: NotRequired[str]
    taxId: NotRequired[str]


class ChannelSecretsRequest(TypedDict):
    """
    Write-only secrets of channels; null forgets one, an absent one is kept.
    """

    telegramToken: NotRequired[str | None]
    discordToken: NotRequired[str | None]
    whatsappPhoneNumberId: NotRequired[str | None]
    whatsappAccessToken: NotRequired[str | None]
    whatsappVerifyToken: NotRequired[str | None]
    whatsappAppSecret: NotRequired[str | None]
    emailAddress: NotRequired[str | None]
    emailPassword: NotRequired[str | None]
    emailSmtpHost: NotRequired[str | None]
    emailImapHost: NotRequired[str | None]


class ChannelsRequest(TypedDict):
    channels: list[Literal["web", "telegram", "discord", "whatsapp", "email"]]
    channelSecrets: NotRequired[ChannelSecretsRequest]
    telegramToken: NotRequired[str | None]


class ChatRequest(TypedDict):
    message: str
    sessionId: NotRequired[str | None]


class Checks(TypedDict):
    database: Literal["ok", "degraded", "down"]
    cache: Literal["ok", "degraded", "down"]
    queue: Literal["ok", "degraded", "down"]
    cluster: Literal["ok", "degraded", "down"]


class ChooseNextPlanRequest(TypedDict):
    tier: Literal["tiny", "small", "medium", "large"]


class CompletionMessage(TypedDict):
    role: str
    content: str
    refusal: str | None


class CompletionRequestRequest(TypedDict):
    """
    A chat completion as OpenAI's clients ask for it. What is not listed is ignored: the agent decides it itself.
    """

    model: NotRequired[str]
    messages: list[dict[str, Any]]
    stream: NotRequired[bool | None]
    user: NotRequired[str | None]
    n: NotRequired[int | None]


class Component(TypedDict):
    id: str
    name: str
    status: Literal["ok", "degraded", "down"]
    latencyMs: int | None
    checkedAt: str | None


class CreateCryptoOrderRequest(TypedDict):
    agentId: str
    asset: Literal["usdt", "usdc"]
    tier: NotRequired[str]
    period: Literal["monthly", "annual"]
    coupon: NotRequired[str]


class CreateStarsOrderRequest(TypedDict):
    agentId: str
    tier: NotRequired[str]
    period: Literal["monthly", "annual"]
    coupon: NotRequired[str]


class CreateStripeOrderRequest(TypedDict):
    agentId: str
    tier: NotRequired[str]
    period: Literal["monthly", "annual"]
    coupon: NotRequired[str]


class CreateSubscriptionRequest(TypedDict):
    """
    `tier` and `period` only check what the key pays for: another value is refused.
    """

    agentId: str
    tier: NotRequired[Literal["tiny", "small", "medium", "large"]]
    period: Literal["monthly", "annual"]
    provider: Literal["gumroad", "lemonsqueezy"]
    licenseKey: str


class CryptoInfo(TypedDict):
    enabled: bool
    chainId: int
    assets: list[Asset]


class CryptoOrder(TypedDict):
    id: str
    userId: str
    agentId: str
    asset: Literal["usdt", "usdc"]
    amount: str
    baseline: str
    status: Literal["pending", "paid", "expired"]
    createdAt: str
    txHash: str | None
    paidAt: str | None
    tier: Literal["tiny", "small", "medium", "large"] | None
    priceUsd: float | None
    tierSnapshot: dict[str, Any] | None


class CryptoOrdersEnvelope(TypedDict):
    orders: list[CryptoOrder]


class CryptoPayment(TypedDict):
    address: str
    chainId: int
    tokenContract: str
    amount: str
    seen: str
    expiresAt: str


class Delivery(TypedDict):
    """
    An event on its way to the receiver. `status`, `error` and `durationMs` are those of the latest attempt.
    """

    id: str
    type: Literal[
        "agent.running",
        "agent.stopped",
        "agent.failed",
        "agent.deleted",
        "payment.confirmed",
        "deletion.warning",
        "test",
    ]
    state: Literal["pending", "delivered", "failed", "canceled"]
    status: int | None
    error: Literal["timeout", "dns", "connect", "tls", "address refused", "protocol", "internal", "canceled"] | None
    attempts: int
    durationMs: int | None
    createdAt: str
    finishedAt: str | None


class DemoLine(TypedDict):
    role: Literal["user", "agent"]
    text: str


class DomainDns(TypedDict):
    status: Literal["ok", "unresolved", "elsewhere"]
    addresses: list[str]


class DomainHttps(TypedDict):
    """
    `skipped` when DNS does not lead here yet, or when nobody asked for it.
    """

    status: Literal["ok", "error", "skipped"]


class DomainRecord(TypedDict):
    """
    A record to be set where the hostname's DNS is kept.
    """

    type: Literal["TXT", "A", "AAAA"]
    name: str
    value: str


Doe: TypeAlias = str


Skill: TypeAlias = str


Tag: TypeAlias = str


RecommendedModel: TypeAlias = str


class EgressSecret(TypedDict):
    """
    A secret as it is shown; its value is write-only.
    """

    name: str
    hosts: list[str]
    header: str
    prefix: str
    setAt: str


class EgressVisits(TypedDict):
    day: str
    host: str
    refused: bool
    count: int
    bytesSent: int
    bytesReceived: int


class EngineCapabilities(TypedDict):
    """
    Leaves out optional fields that have no value.
    """

    skills: bool
    mcp: bool
    skillRegistry: bool
    skillUninstall: bool
    llmKey: bool
    model: bool
    sso: bool
    dashCredentials: bool
    llmProviders: NotRequired[
        list[
            Literal[
                "openai", "anthropic", "openrouter", "google", "gemini", "groq", "mistral", "deepseek", "xai", "nous"
            ]
        ]
    ]


class Error(TypedDict):
    """
    The body of every 4xx and 5xx (spec: Errors).
    """

    error: Literal[
        "BAD_REQUEST", "UNAUTHORIZED", "INVALID_CODE", "FORBIDDEN", "NOT_FOUND", "CONFLICT", "RATE_LIMITED", "INTERNAL"
    ]
    message: str


class EventAgent(TypedDict):
    id: str
    status: str
    name: str
    engine: str
    tier: str
    endpointUrl: str | None


class Explanation(TypedDict):
    """
    The most urgent cause. Other causes are lines of `evidence` that begin with `also`, the more urgent first.
    """

    status: Literal["provisioning", "running", "stopped", "failed", "deleted"]
    cause: str
    message: str
    since: str
    evidence: list[str]
    next: str | None


class ExplanationEnvelope(TypedDict):
    explanation: Explanation


class Health(TypedDict):
    status: Literal["ok"]


class HintRequest(TypedDict):
    """
    What a provider tells when something changed, as far as it is read: which licence.
    """

    license_key: NotRequired[str]
    subscription_id: NotRequired[str]
    sale_id: NotRequired[str]
    data: NotRequired[dict[str, Any]]


class Incident(TypedDict):
    id: str
    title: str
    status: NotRequired[Literal["investigating", "identified", "monitoring", "resolved"]]
    startedAt: str
    resolvedAt: NotRequired[str | None]
    components: NotRequired[list[str]]


class Incidents(TypedDict):
    incidents: list[Incident]


class KeyLimits(TypedDict):
    usdPerDay: float | None
    usdPerMonth: float | None
    usdToday: float
    usdThisMonth: float


class KeyLimitsEnvelope(TypedDict):
    limits: KeyLimits


class KeyNameRequest(TypedDict):
    name: str
    scopes: NotRequired[list[Literal["read", "operate", "pay"]] | None]
    agentId: NotRequired[str | None]
    expiresAt: NotRequired[str | None]
    spendLimitUsd: NotRequired[float | None]
    usdPerDay: NotRequired[float | None]
    usdPerMonth: NotRequired[float | None]


class Keys(TypedDict):
    keys: list[ApiKey]


class Limits(TypedDict):
    usdPerDay: float | None
    usdPerMonth: float | None
    tokensPerTurn: int | None
    requestsPerMinute: int | None
    stopped: bool


class LimitsEnvelope(TypedDict):
    limits: Limits


class Liveness(TypedDict):
    reachable: bool | None
    serving: bool | None


class LivenessEnvelope(TypedDict):
    liveness: Liveness


class LlmKeyRequest(TypedDict):
    """
    `provider` and `key` install a key; `model` alone changes the model (null: the default).
    """

    provider: NotRequired[
        Literal["openai", "anthropic", "openrouter", "google", "gemini", "groq", "mistral", "deepseek", "xai", "nous"]
    ]
    key: NotRequired[str]
    model: NotRequired[str | None]


class LlmProviderInfo(TypedDict):
    id: Literal["openai", "anthropic", "openrouter", "google", "gemini", "groq", "mistral", "deepseek", "xai", "nous"]
    label: str
    envVar: str


class LlmProviders(TypedDict):
    llmProviders: list[LlmProviderInfo]


class LogEntry(TypedDict):
    """
    One line. `level` is null where the line does not say it.
    """

    time: str
    source: Literal["bridge", "engine", "gateway"]
    level: Literal["debug", "info", "warning", "error"] | None
    text: str


class LoggedEvent(TypedDict):
    """
    What the logs of events have: all that is sent, and types that are only there.
    """

    id: str
    type: Literal[
        "agent.running",
        "agent.stopped",
        "agent.failed",
        "agent.deleted",
        "payment.confirmed",
        "deletion.warning",
        "test",
        "limit.near",
        "limit.reached",
        "replay.switched",
        "replay.deleted",
    ]
    createdAt: str
    agent: EventAgent
    data: dict[str, Any]


class LogsEnvelope(TypedDict):
    """
    `cursor` is null while the agent has no log at all.
    """

    logs: list[LogEntry]
    cursor: str | None
    live: bool
    gap: bool


Arg: TypeAlias = str


class McpServer(TypedDict):
    """
    One MCP server: `command` (stdio) or `url` (HTTP). Values of `env` and `headers` are secrets.
    """

    name: str
    command: NotRequired[str]
    args: NotRequired[list[Arg]]
    env: NotRequired[dict[str, str]]
    url: NotRequired[str]
    headers: NotRequired[dict[str, str]]


class McpServerRequest(TypedDict):
    """
    One MCP server: `command` (stdio) or `url` (HTTP). Values of `env` and `headers` are secrets.
    """

    name: str
    command: NotRequired[str]
    args: NotRequired[list[Arg]]
    env: NotRequired[dict[str, str]]
    url: NotRequired[str]
    headers: NotRequired[dict[str, str]]


class McpTest(TypedDict):
    """
    `tools` are the names that the server tells, at most 200; `error` says why it does not answer, else null.
    """

    ok: bool
    ms: int
    tools: list[str]
    error: str | None


class McpTestEnvelope(TypedDict):
    mcpTest: McpTest


class ModelInfo(TypedDict):
    id: str
    provider: Literal[
        "openai", "anthropic", "openrouter", "google", "gemini", "groq", "mistral", "deepseek", "xai", "nous"
    ]
    name: str
    label: str
    costTier: Literal["cheap", "mid", "premium"]


class Models(TypedDict):
    models: list[ModelInfo]


class MoveSubscriptionRequest(TypedDict):
    agentId: str


class NewKey(TypedDict):
    key: ApiKey
    secret: str


class NextPlan(TypedDict):
    """
    The plan that follows when the paid time ends. `priceUsd` is what a period of it costs then.
    """

    subscriptionId: str
    tier: Literal["tiny", "small", "medium", "large"]
    period: Literal["monthly", "annual"]
    priceUsd: float
    startsAt: str
    tierSnapshot: dict[str, Any]
    chosenAt: str


class NextPlanEnvelope(TypedDict):
    nextPlan: NextPlan | None


class NoSuchPersona(TypedDict):
    """
    The one error body without a message (spec: Errors).
    """

    error: Literal["NOT_FOUND"]


class Party(TypedDict):
    name: str
    address: str
    country: str
    taxId: str
    email: str


class PatchAgentRequest(TypedDict):
    name: NotRequired[str]
    lang: NotRequired[Literal["en", "ru"]]
    timezone: NotRequired[str | None]
    extraSoul: NotRequired[str | None]
    tier: NotRequired[Literal["tiny", "small", "medium", "large"]]


class PatchArticleRequest(TypedDict):
    """
    What is absent stays as it is. The slug is for good.
    """

    title: NotRequired[str]
    summary: NotRequired[str]
    lang: NotRequired[Literal["en", "ru", "es", "pt", "tr", "ind"]]
    status: NotRequired[Literal["draft", "published"]]
    body: NotRequired[str]


class PaymentProvider(TypedDict):
    """
    A way to pay. `soon` cannot be paid with yet. `buyUrls` is by tier id.
    """

    id: Literal["gumroad", "lemonsqueezy", "usdt", "usdc", "stars", "stripe"]
    label: str
    buyUrl: NotRequired[str]
    buyUrls: NotRequired[dict[str, str]]
    note: NotRequired[str]
    status: Literal["active", "soon"]


class PaymentProvidersEnvelope(TypedDict):
    paymentProviders: list[PaymentProvider]


class PeerRequest(TypedDict):
    """
    A peer as it is given; the token is what our agent sends to it.
    """

    name: str
    url: str
    token: NotRequired[str | None]


class PersonaL10n(TypedDict):
    """
    Leaves out optional fields that have no value.
    """

    name: str
    tagline: str
    forWho: str
    does: list[str]
    doesExamples: NotRequired[dict[str, str]]
    disclaimer: NotRequired[str | None]
    demo: NotRequired[list[DemoLine]]


class Platform(TypedDict):
    status: Literal["ok", "degraded", "down"]
    components: list[Component]
    version: str
    catalogUpdatedAt: str | None


class Portal(TypedDict):
    url: str


class PortalEnvelope(TypedDict):
    portal: Portal


class PutA2aRequest(TypedDict):
    """
    What is absent stays. A peer's `token` that is absent is kept by the peer's name, while its address stays on the
    same host; null forgets it.
    """

    enabled: bool
    listed: NotRequired[bool]
    peers: NotRequired[list[PeerRequest]]
    rotateToken: NotRequired[bool]


class PutAccountLimitsRequest(TypedDict):
    """
    All limits of an account.
    """

    usdPerDay: NotRequired[float | None]
    usdPerMonth: NotRequired[float | None]
    stopped: NotRequired[bool]


class PutDomainRequest(TypedDict):
    domain: str


Host: TypeAlias = str


class PutEgressRequest(TypedDict):
    allowList: Literal["off", "on"]
    hosts: NotRequired[list[Host]]


class PutEgressSecretRequest(TypedDict):
    hosts: list[Host]
    header: str
    prefix: NotRequired[str]
    value: NotRequired[str]


class PutKeyLimitsRequest(TypedDict):
    """
    Both limits of a key.
    """

    usdPerDay: NotRequired[float | None]
    usdPerMonth: NotRequired[float | None]


class PutLimitsRequest(TypedDict):
    """
    All limits of an agent.
    """

    usdPerDay: NotRequired[float | None]
    usdPerMonth: NotRequired[float | None]
    tokensPerTurn: NotRequired[int | None]
    requestsPerMinute: NotRequired[int | None]
    stopped: NotRequired[bool]


class PutReplayRequest(TypedDict):
    """
    The switch.
    """

    recording: bool


class QuotaEnvelope(TypedDict):
    """
    Null before the first measurement.
    """

    quota: AgentQuota | None


class Quote(TypedDict):
    agentId: str
    tier: Literal["tiny", "small", "medium", "large"]
    period: Literal["monthly", "annual"]
    provider: Literal["gumroad", "lemonsqueezy", "usdt", "usdc", "stars", "stripe"]
    priceUsd: float
    paidTill: str
    tierSnapshot: dict[str, Any]


class QuoteEnvelope(TypedDict):
    quote: Quote


class Readiness(TypedDict):
    status: Literal["ok"]
    checks: Checks


class Received(TypedDict):
    """
    To those who call us by themselves: what they brought is kept.
    """

    ok: bool


class ReceiverRequest(TypedDict):
    url: str


class Remembered(TypedDict):
    name: str
    content: str


class RenameAuthorRequest(TypedDict):
    name: str


class ReplayEntry(TypedDict):
    """
    One thing that the agent did. What does not belong to its kind, or is not known, is null.
    """

    id: str
    at: str
    kind: Literal["turn.began", "model.call", "tool.call", "turn.ended", "turn.failed", "not.kept"]
    door: Literal["chat", "a2a", "test", "channel", "shared", "engine"] | None
    session: str | None
    turn: str | None
    model: str | None
    inputTokens: int | None
    cachedTokens: int | None
    outputTokens: int | None
    estimated: bool
    usd: float | None
    durationMs: int | None
    hop: Literal["gateway", "engine", "model"] | None
    cause: str | None
    error: str | None
    tool: str | None
    asked: str | None
    answered: str | None
    arguments: str | None
    count: int | None


class ReplayEnvelope(TypedDict):
    """
    `recording` is the switch.
    """

    replay: list[ReplayEntry]
    recording: bool


class ReplaySwitchEnvelope(TypedDict):
    recording: bool


class ReplyPart(TypedDict):
    """
    What the agent gave beside its words, as its engine says; nobody looked into it.

    `file` {name, mediaType, bytes in base64}, `link` {name, mediaType, url}, `data` {data}, `note` {text} in the place
    of what could not be passed on.
    """

    kind: Literal["file", "link", "data", "note"]
    name: NotRequired[str]
    mediaType: NotRequired[str]
    bytes: NotRequired[str]
    url: NotRequired[str]
    data: NotRequired[Any]
    text: NotRequired[str]


class Requested(TypedDict):
    ok: bool
    devCode: NotRequired[str]


class SignInCodeRequest(TypedDict):
    email: str


class StarsInfo(TypedDict):
    enabled: bool
    botUsername: str
    starUsd: float


class StarsOrder(TypedDict):
    id: str
    userId: str
    agentId: str
    amountStars: int
    status: Literal["pending", "paid", "expired"]
    createdAt: str
    paidAt: str | None
    tier: Literal["tiny", "small", "medium", "large"] | None
    priceUsd: float | None
    tierSnapshot: dict[str, Any] | None


class StarsOrdersEnvelope(TypedDict):
    orders: list[StarsOrder]


class StarsPayment(TypedDict):
    invoiceUrl: str
    expiresAt: str


class StripeEventRequest(TypedDict):
    """
    What Stripe sends, in its own names. It is a hint: whatever changed is asked for anew.
    """

    id: str
    type: str
    created: int


class StripeOrder(TypedDict):
    id: str
    userId: str
    agentId: str
    status: Literal["pending", "paid", "expired"]
    createdAt: str
    paidAt: str | None
    tier: Literal["tiny", "small", "medium", "large"] | None
    priceUsd: float | None
    tierSnapshot: dict[str, Any] | None


class StripeOrdersEnvelope(TypedDict):
    orders: list[StripeOrder]


class StripePayment(TypedDict):
    checkoutUrl: str
    expiresAt: str


class Subscription(TypedDict):
    """
    A paid term for one agent, with the licence key that activated it.
    """

    id: str
    userId: str
    agentId: str
    tier: Literal["tiny", "small", "medium", "large"]
    period: Literal["monthly", "annual"]
    status: Literal["active", "canceled", "expired"]
    createdAt: str
    priceUsd: float
    currentPeriodEnd: str
    provider: Literal["gumroad", "lemonsqueezy", "usdt", "usdc", "stars", "stripe", "internal"] | None
    licenseKey: str | None
    canceledAt: str | None
    tierSnapshot: dict[str, Any] | None
    expiredAt: str | None


class SubscriptionEnvelope(TypedDict):
    subscription: Subscription


class SubscriptionsEnvelope(TypedDict):
    subscriptions: list[Subscription]


class TalkTestHop(TypedDict):
    """
    One hop: `gateway`, `engine`, `model`, or a channel. `ms` is null when it was not tried.
    """

    hop: str
    ok: bool
    ms: int | None
    error: str | None


class TelegramUpdateRequest(TypedDict):
    """
    What Telegram sends, in its own names; of a message only payments and refunds matter.
    """

    update_id: NotRequired[int]
    message: NotRequired[dict[str, Any]]
    pre_checkout_query: NotRequired[dict[str, Any]]


class TermEnvelope(TypedDict):
    term: AgentTerm


class Ticket(TypedDict):
    url: str
    expiresAt: str


class TicketEnvelope(TypedDict):
    ticket: Ticket


class Tier(TypedDict):
    id: Literal["tiny", "small", "medium", "large"]
    name: str
    spec: str
    monthlyUsd: float
    annualUsd: float


class ToolSecretsRequest(TypedDict):
    """
    Write-only keys of the services that tools use; null forgets one, an absent one is kept.
    """

    tavily: NotRequired[str | None]
    openai: NotRequired[str | None]


class ToolsetInfo(TypedDict):
    """
    Leaves out optional fields that have no value.
    """

    id: str
    name: str
    description: str
    defaultEnabled: bool
    group: Literal["web", "files", "media", "voice", "thinking", "integrations", "network"]
    plugin: NotRequired[str]
    engines: list[Literal["hermes", "openclaw", "n8n", "claude-code", "opencode", "pi"]]
    service: NotRequired[Literal["tavily", "openai"]]
    keyNeededOn: list[Literal["hermes", "openclaw", "n8n", "claude-code", "opencode", "pi"]]


class Trial(TypedDict):
    days: int
    graceDays: int
    keptDays: int
    noticeDays: list[int]
    maxFreeAgents: int


class UsageRow(TypedDict):
    """
    The calls of one day, model, conversation or API key. Only the names that `by` asked for are there.
    """

    calls: int
    failedCalls: int
    estimatedCalls: int
    unpricedCalls: int
    inputTokens: int
    cachedTokens: int
    cacheWriteTokens: int
    outputTokens: int
    reasoningTokens: int
    usd: float | None
    day: NotRequired[str]
    model: NotRequired[str]
    kind: NotRequired[Literal["chat", "a2a", "test", "shared", "engine"]]
    session: NotRequired[str]
    keyId: NotRequired[str]
    keyName: NotRequired[str]


class UsageTotal(TypedDict):
    """
    All calls of these days.
    """

    calls: int
    failedCalls: int
    estimatedCalls: int
    unpricedCalls: int
    inputTokens: int
    cachedTokens: int
    cacheWriteTokens: int
    outputTokens: int
    reasoningTokens: int
    usd: float | None


class User(TypedDict):
    id: str
    email: str


class Verified(TypedDict):
    token: str
    user: User


class VerifyRequest(TypedDict):
    email: str
    code: str
    attribution: NotRequired[AttributionRequest | None]


class Webhook(TypedDict):
    """
    The receiver, and its signing secret, which is shown this once.
    """

    url: str
    secret: str
    events: list[
        Literal[
            "agent.running",
            "agent.stopped",
            "agent.failed",
            "agent.deleted",
            "payment.confirmed",
            "deletion.warning",
            "test",
        ]
    ]


class WebhookDelivery(TypedDict):
    """
    How a delivery ended. `status` is null when the receiver was unreachable; `error` then says why.
    """

    ok: bool
    status: int | None
    attempts: int
    error: NotRequired[str]


class WebhookDeliveryEnvelope(TypedDict):
    delivery: WebhookDelivery


class WebhookEvent(TypedDict):
    """
    What is sent to the receiver (spec: WebhookEvent). `data` depends on the type.
    """

    id: str
    type: Literal[
        "agent.running",
        "agent.stopped",
        "agent.failed",
        "agent.deleted",
        "payment.confirmed",
        "deletion.warning",
        "test",
    ]
    createdAt: str
    agent: EventAgent
    data: dict[str, Any]


class WhatsappCallRequest(TypedDict):
    """
    A call of Meta's webhook. Of its entries those of the field `messages` count, with messages in them.
    """

    object: str
    entry: list[dict[str, Any]]


class WriteArticleRequest(TypedDict):
    """
    What is absent stays as it is. The slug is for good.
    """

    title: str
    summary: NotRequired[str]
    lang: Literal["en", "ru", "es", "pt", "tr", "ind"]
    status: NotRequired[Literal["draft", "published"]]
    body: str
    slug: NotRequired[str]


class WrittenDemoLineRequest(TypedDict):
    role: Literal["user", "agent"]
    text: str


class WrittenL10nRequest(TypedDict):
    """
    The texts in another language. What is given replaces the whole localization.
    """

    name: str
    tagline: str
    forWho: str
    does: list[Doe]
    doesExamples: NotRequired[dict[str, Any] | None]
    disclaimer: NotRequired[str | None]
    demo: NotRequired[list[WrittenDemoLineRequest] | None]


class A2aCatalogEnvelope(TypedDict):
    agents: list[A2aListing]


class A2aRequest(TypedDict):
    enabled: bool
    listed: NotRequired[bool]
    peers: NotRequired[list[PeerRequest]]


class AgentMemory(TypedDict):
    soul: str
    skills: list[str]
    memories: list[Remembered]
    sessionsCount: int


class AgentTools(TypedDict):
    enabled: list[EnabledItem]
    mcpServers: list[McpServer]


class CompletionChoice(TypedDict):
    index: int
    message: CompletionMessage
    logprobs: Any
    finish_reason: str


class CryptoEnvelope(TypedDict):
    crypto: CryptoInfo


class CryptoOrderEnvelope(TypedDict):
    order: CryptoOrder
    payment: CryptoPayment


class DeliveriesEnvelope(TypedDict):
    deliveries: list[Delivery]


class DomainCheck(TypedDict):
    """
    `expectedIp` is the address that the A record of the hostname must carry.
    """

    domain: str
    expectedIp: str
    dns: DomainDns
    https: DomainHttps


class DomainCheckEnvelope(TypedDict):
    check: DomainCheck


class DraftPersonaRequest(TypedDict):
    """
    A draft needs only a name; what is needed to publish it may follow with PATCH.
    """

    icon: NotRequired[str]
    name: str
    tagline: NotRequired[str]
    forWho: NotRequired[str]
    does: NotRequired[list[Doe]]
    doesExamples: NotRequired[dict[str, Any] | None]
    skills: NotRequired[list[Skill]]
    channels: NotRequired[list[Literal["web", "telegram", "discord", "whatsapp", "email"]]]
    category: NotRequired[Literal["study", "creative", "gaming", "career", "life", "social", "tech", "fun"]]
    tags: NotRequired[list[Tag]]
    tier: NotRequired[Literal["tiny", "small", "medium", "large"]]
    risk: NotRequired[Literal["low", "high"]]
    disclaimer: NotRequired[str | None]
    demo: NotRequired[list[WrittenDemoLineRequest] | None]
    ru: NotRequired[WrittenL10nRequest | None]
    es: NotRequired[WrittenL10nRequest | None]
    pt: NotRequired[WrittenL10nRequest | None]
    tr: NotRequired[WrittenL10nRequest | None]
    ind: NotRequired[WrittenL10nRequest | None]
    soul: NotRequired[str]
    recommendedModels: NotRequired[list[RecommendedModel]]


class Egress(TypedDict):
    allowList: str
    hosts: list[str]
    secrets: list[EgressSecret]
    enforced: bool


class EgressEnvelope(TypedDict):
    egress: Egress


EgressLog = TypedDict(
    "EgressLog",
    {
        "from": str,
        "to": str,
        "rows": list[EgressVisits],
        "hasMore": bool,
    },
)


class EgressLogEnvelope(TypedDict):
    log: EgressLog


class Engine(TypedDict):
    id: Literal["hermes", "openclaw", "n8n", "claude-code", "opencode", "pi"]
    label: str
    description: str
    requiresDomain: bool
    minTier: Literal["tiny", "small", "medium", "large"]
    status: Literal["stable", "beta"]
    capabilities: EngineCapabilities


class Engines(TypedDict):
    engines: list[Engine]


class EventsEnvelope(TypedDict):
    events: list[LoggedEvent]


class Invoice(TypedDict):
    id: str
    kind: Literal["invoice", "credit_note"]
    number: str
    agentId: str
    paymentId: str
    correctsId: str | None
    createdAt: str
    seller: Party
    buyer: Party
    description: str
    paidWith: str
    totalUsd: float
    taxUsd: float
    taxName: NotRequired[str]
    taxPercent: float
    reverseCharge: NotRequired[bool]
    pdfUrl: str


class InvoiceEnvelope(TypedDict):
    invoice: Invoice


class InvoicesEnvelope(TypedDict):
    invoices: list[Invoice]


class Me(TypedDict):
    user: User


class MemoryEnvelope(TypedDict):
    memory: AgentMemory


ModelCosts = TypedDict(
    "ModelCosts",
    {
        "from": str,
        "to": str,
        "by": Literal["day", "model", "session", "key"],
        "total": UsageTotal,
        "rows": list[UsageRow],
        "hasMore": bool,
    },
)


class PatchPersonaRequest(TypedDict):
    """
    Any of the fields that an author writes. What is absent stays as it is.
    """

    icon: NotRequired[str]
    name: NotRequired[str]
    tagline: NotRequired[str]
    forWho: NotRequired[str]
    does: NotRequired[list[Doe]]
    doesExamples: NotRequired[dict[str, Any] | None]
    skills: NotRequired[list[Skill]]
    channels: NotRequired[list[Literal["web", "telegram", "discord", "whatsapp", "email"]]]
    category: NotRequired[Literal["study", "creative", "gaming", "career", "life", "social", "tech", "fun"]]
    tags: NotRequired[list[Tag]]
    tier: NotRequired[Literal["tiny", "small", "medium", "large"]]
    risk: NotRequired[Literal["low", "high"]]
    disclaimer: NotRequired[str | None]
    demo: NotRequired[list[WrittenDemoLineRequest] | None]
    ru: NotRequired[WrittenL10nRequest | None]
    es: NotRequired[WrittenL10nRequest | None]
    pt: NotRequired[WrittenL10nRequest | None]
    tr: NotRequired[WrittenL10nRequest | None]
    ind: NotRequired[WrittenL10nRequest | None]
    soul: NotRequired[str]
    recommendedModels: NotRequired[list[RecommendedModel]]


class Persona(TypedDict):
    """
    Leaves out optional fields that have no value.
    """

    id: str
    icon: str
    name: str
    tagline: str
    forWho: str
    does: list[str]
    doesExamples: NotRequired[dict[str, str]]
    skills: list[str]
    channels: list[Literal["web", "telegram", "discord", "whatsapp", "email"]]
    category: Literal["study", "creative", "gaming", "career", "life", "social", "tech", "fun"]
    tags: list[str]
    tier: Literal["tiny", "small", "medium", "large"]
    spec: str
    price: str
    risk: Literal["low", "high"]
    disclaimer: str | None
    demo: NotRequired[list[DemoLine]]
    ru: NotRequired[PersonaL10n]
    es: NotRequired[PersonaL10n]
    pt: NotRequired[PersonaL10n]
    tr: NotRequired[PersonaL10n]
    ind: NotRequired[PersonaL10n]
    authorId: NotRequired[str]
    author: str
    status: Literal["builtin", "draft", "published"]
    soul: str
    deployedCount: int
    recommendedModels: list[str]


class PersonaEnvelope(TypedDict):
    persona: Persona


class PersonaPage(TypedDict):
    persona: Persona
    articles: list[ArticleInfo]


class Personas(TypedDict):
    personas: list[Persona]


class PutAgentToolsRequest(TypedDict):
    """
    What `GET /tools?engine=…` says with `keyNeededOn` needs the key of its `service` in `secrets`.
    """

    enabled: list[EnabledItem]
    mcpServers: list[McpServerRequest]
    secrets: NotRequired[ToolSecretsRequest]


class Reply(TypedDict):
    reply: str
    sessionId: str
    parts: NotRequired[list[ReplyPart]]


class StarsEnvelope(TypedDict):
    stars: StarsInfo


class StarsOrderEnvelope(TypedDict):
    order: StarsOrder
    payment: StarsPayment


class StripeOrderEnvelope(TypedDict):
    order: StripeOrder
    payment: StripePayment


class TalkTest(TypedDict):
    """
    `ok` when no hop is silent.
    """

    ok: bool
    hops: list[TalkTestHop]


class TalkTestEnvelope(TypedDict):
    talkTest: TalkTest


class Tiers(TypedDict):
    tiers: list[Tier]
    trial: Trial


class Tools(TypedDict):
    tools: list[ToolsetInfo]


class UsageEnvelope(TypedDict):
    usage: ModelCosts


class Agent(TypedDict):
    """
    One pod, exactly as the spec lists it. The four webhook fields are there while a hook is.
    """

    id: str
    userId: str
    personaId: str
    name: str
    tier: Literal["tiny", "small", "medium", "large"]
    channels: list[Literal["web", "telegram", "discord", "whatsapp", "email"]]
    createdAt: str
    status: Literal["provisioning", "running", "stopped", "failed", "deleted"]
    dseq: str | None
    endpointUrl: str | None
    llmKeyHash: str | None
    dashUsername: str | None
    dashPassword: str | None
    quotaStatus: Literal["ok", "warn", "grace", "paused"]
    quota: AgentQuota | None
    lang: Literal["en", "ru"]
    domain: str | None
    tools: AgentTools | None
    llmProvider: (
        Literal["openai", "anthropic", "openrouter", "google", "gemini", "groq", "mistral", "deepseek", "xai", "nous"]
        | None
    )
    lastBackupAt: str | None
    model: str | None
    engine: Literal["hermes", "openclaw", "n8n", "claude-code", "opencode", "pi"]
    timezone: str | None
    a2aToken: str | None
    a2aUrl: str | None
    extraSoul: str | None
    a2aPeers: list[A2aPeerPublic] | None
    a2aSlug: str | None
    trialNoticeDay: int | None
    telegramTokenEnc: Literal["set"] | None
    a2aListed: bool
    webhookUrl: NotRequired[str]
    webhookLastStatus: NotRequired[str | None]
    webhookLastAt: NotRequired[str | None]
    webhookLastEvent: NotRequired[str | None]


class AgentDomainEnvelope(TypedDict):
    agent: Agent
    check: DomainCheck
    records: list[DomainRecord]


class AgentEnvelope(TypedDict):
    agent: Agent


class AgentWebhookEnvelope(TypedDict):
    """
    The agent and its webhook; the secret is shown by this answer alone.
    """

    agent: Agent
    webhook: Webhook


class AgentsEnvelope(TypedDict):
    agents: list[Agent]


class Completion(TypedDict):
    id: str
    object: str
    created: int
    model: str
    choices: list[CompletionChoice]


class CreateAgentRequest(TypedDict):
    """
    All that may be said when creating an agent; only persona and tier must be.
    """

    personaId: str
    tier: Literal["tiny", "small", "medium", "large"]
    engine: NotRequired[Literal["pi", "hermes", "opencode", "claude-code", "openclaw", "n8n"]]
    name: NotRequired[str]
    channels: NotRequired[list[Literal["web", "telegram", "discord", "whatsapp", "email"]]]
    channelSecrets: NotRequired[ChannelSecretsRequest]
    telegramToken: NotRequired[str | None]
    lang: NotRequired[Literal["en", "ru"]]
    timezone: NotRequired[str | None]
    domain: NotRequired[str | None]
    tools: NotRequired[PutAgentToolsRequest | None]
    llmProvider: NotRequired[
        Literal["openai", "anthropic", "openrouter", "google", "gemini", "groq", "mistral", "deepseek", "xai", "nous"]
        | None
    ]
    llmKey: NotRequired[str | None]
    model: NotRequired[str | None]
    extraSoul: NotRequired[str | None]
    a2a: NotRequired[A2aRequest | None]
    webhookUrl: NotRequired[str | None]


class CreatedAgentEnvelope(TypedDict):
    """
    The secret of the webhook is shown only here; null without a webhook.
    """

    agent: Agent
    webhookSecret: str | None


class OwnPersonaPage(TypedDict):
    persona: Persona
    articles: list[ArticleInfo]
