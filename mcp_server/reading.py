"""The tools that only read. Their descriptions are written for models."""

from __future__ import annotations

from mcp_server.tool import Arguments, Tool, ToolRefused, picked_from

# Nothing here is a secret: no password of a dashboard, no token, no digest of a key.
AGENT = tuple(
    f"agent.{name}"
    for name in (
        *("id", "name", "personaId", "status", "tier", "engine", "llmProvider", "model", "channels", "endpointUrl"),
        *("quotaStatus", "lang", "timezone", "domain", "extraSoul", "tools.enabled", "tools.mcpServers.name"),
        *("a2aUrl", "createdAt", "lastBackupAt", "trialNoticeDay"),
    )
)
_PERSONA = ("id", "name", "tagline", "forWho", "does", "category", "tags", "tier", "price", "channels", "risk")
_IN_A_LIST = ("id", "name", "personaId", "status", "tier", "engine", "model", "endpointUrl", "createdAt")
_DONE = (
    *("at", "kind", "door", "session", "turn", "model", "inputTokens", "outputTokens", "usd", "durationMs"),
    *("hop", "cause", "error", "tool", "asked", "answered", "arguments", "count"),
)
SECTIONS = {
    "tiers": "listTiers",
    "engines": "listEngines",
    "models": "listModels",
    "llm-providers": "listLlmProviders",
    "tools": "listTools",
    "payment-providers": "getPaymentProviders",
}

COSTS = ("usage", "limits", "keys", "term", "quote")


def _section(arguments: Arguments) -> str:
    return SECTIONS[picked_from(SECTIONS, arguments, "section")]


def _whose_events(arguments: Arguments) -> str:
    return "listAgentEvents" if "agentId" in arguments else "listEvents"


def _costs(arguments: Arguments) -> str:
    """The operation that tells it. Raises ToolRefused."""
    show, agent, key = picked_from(COSTS, arguments, "show"), arguments.get("agentId"), arguments.get("keyId")
    if agent and key:
        raise ToolRefused("keyId: give agentId or keyId, not both")
    if show == "keys":
        return "listKeys"
    if show == "limits":
        return "getAgentLimits" if agent else "getKeyLimits" if key else "getAccountLimits"
    if not agent:
        raise ToolRefused(f"agentId: `{show}` is told of one agent; list_agents names them")
    return {"usage": "getAgentUsage", "term": "getAgentTerm", "quote": "getSubscriptionQuote"}[show]


READING = (
    Tool(
        name="search_personas",
        title="Search personas",
        operations=("listPersonas",),
        takes=("q", "category", "lang", "tier", "limit", "cursor"),
        told={"q": "Words to search for, e.g. `exam maths`.", "cursor": "`next` of the page before."},
        shows=tuple(f"personas.{name}" for name in _PERSONA),
        page=10,
        most=50,
        goes_on_with="cursor",
        read_only=True,
        about="Find a persona: a ready-made character and purpose that every agent is created from. Begin here to "
        "create an agent. `tier` is the smallest plan that suits the persona. get_persona tells more about one.",
    ),
    Tool(
        name="get_persona",
        title="Read a persona",
        operations=("getPersona",),
        takes=("personaId",),
        told={"personaId": "The id of the persona, from search_personas."},
        shows=(
            *(f"persona.{one}" for one in (*_PERSONA, "skills", "disclaimer", "soul", "recommendedModels")),
            "articles",
        ),
        read_only=True,
        about="Read one persona with its system prompt (`soul`), its disclaimer and the models that suit it.",
    ),
    Tool(
        name="get_catalog",
        title="Read the catalog",
        operations=tuple(SECTIONS.values()),
        choose=_section,
        takes=("section", "engine", "provider"),
        needs=("section",),
        own={"section": {"type": "string", "enum": list(SECTIONS), "description": "Which part of the catalog."}},
        told={
            "engine": "With `tools` and `llm-providers`: only what this engine can use.",
            "provider": "With `models`: only the models of this provider.",
        },
        read_only=True,
        about="What agents are made of and paid with: plans with their prices and the free trial (`tiers`), `engines`, "
        "`models`, model providers (`llm-providers`), toolsets (`tools`), ways to pay (`payment-providers`).",
    ),
    Tool(
        name="list_agents",
        title="List agents",
        operations=("listAgents",),
        takes=("status", "limit", "cursor"),
        told={"cursor": "`next` of the page before."},
        shows=tuple(f"agents.{name}" for name in _IN_A_LIST),
        fixed={"fields": ",".join(_IN_A_LIST)},
        page=20,
        most=100,
        goes_on_with="cursor",
        read_only=True,
        about="List your agents, newest first. get_agent tells everything about one.",
    ),
    Tool(
        name="get_agent",
        title="Read an agent",
        operations=("getAgent",),
        takes=("agentId", "waitSeconds"),
        shows=AGENT,
        read_only=True,
        about="Read one agent: its status, settings, address and usage of its plan. With `waitSeconds` the answer "
        "comes when it is `running`, `stopped` or `failed`; if it is still `provisioning`, call again. If it is "
        "`failed`, explain_agent says why. Passwords and tokens are left out; a person finds them on the agent's page "
        "of the account.",
    ),
    Tool(
        name="explain_agent",
        title="Explain an agent",
        operations=("explainAgent",),
        takes=("agentId",),
        read_only=True,
        about="Why the agent is silent, stopped or failed: the most urgent `cause`, its `evidence`, and in `next` the "
        "HTTP call that helps. The tool whose description names that call makes it. It costs no model call.",
    ),
    Tool(
        name="read_logs",
        title="Read an agent's log",
        operations=("getAgentLogs",),
        takes=("agentId", "after", "limit", "source"),
        told={"after": "`cursor` of the page before, or `oldest`. Without it: the newest lines."},
        page=50,
        most=200,
        read_only=True,
        about="Read what the agent's engine, bridge and gateway wrote. Secrets are masked.",
    ),
    Tool(
        name="read_replay",
        title="Read what an agent did",
        operations=("listAgentReplay",),
        takes=("agentId", "session", "kind", "from", "to", "limit", "cursor"),
        told={
            "session": "Only this conversation.",
            "from": "Not before this moment, as 2026-11-28T06:00:00Z.",
            "to": "Not after this moment.",
            "cursor": "`next` of the page before.",
        },
        shows=(*(f"replay.{name}" for name in _DONE), "recording"),
        fixed={"fields": ",".join(_DONE)},
        page=50,
        most=200,
        goes_on_with="cursor",
        read_only=True,
        about="What the agent did, newest first: turns, model calls with their cost and errors, and the tools that its "
        "model asked for, with the beginnings of texts. Kept for 30 days. Its owner can switch it off: `recording`.",
    ),
    Tool(
        name="read_memory",
        title="Read an agent's memory",
        operations=("getAgentMemory",),
        takes=("agentId",),
        read_only=True,
        about="What the agent is and has learned: its system prompt, skills, memories, and how many conversations it "
        "keeps.",
    ),
    Tool(
        name="get_costs",
        title="Read what an agent costs, and its limits",
        operations=(
            *("getAgentUsage", "getAgentTerm", "getSubscriptionQuote", "getAgentLimits", "getKeyLimits"),
            *("getAccountLimits", "listKeys"),
        ),
        choose=_costs,
        takes=("show", "agentId", "keyId", "by", "from", "to", "period", "provider", "tier", "coupon"),
        needs=("show",),
        own={"show": {"type": "string", "enum": list(COSTS), "description": "What to tell."}},
        told={
            "keyId": "With `limits`: those of this API key, and what it has spent.",
            "by": "With `usage`: a row for each day, model, conversation or API key.",
            "from": "With `usage`: the first day, as 2026-11-01; else the first of this month.",
            "to": "With `usage`: the last day; else today.",
            "period": "With `quote`: a month or a year.",
            "provider": "With `quote`: how it would be paid.",
            "tier": "With `quote`: the plan; else the agent's own.",
            "coupon": "With `quote`.",
        },
        read_only=True,
        about="What an agent costs: `term` (on trial or paid, until when, when it stops and is deleted, and "
        "`renewUrl`, where a person pays), `quote` (what a month or a year would cost; start_payment pays), `usage` "
        "(tokens and USD of its model calls). `limits` of the agent, of the API key `keyId`, or without either of the "
        "account; null is no limit. `keys` names your API keys; a limited key sees itself alone.",
    ),
    Tool(
        name="list_events",
        title="List events",
        operations=("listEvents", "listAgentEvents"),
        choose=_whose_events,
        takes=("agentId", "after", "limit"),
        told={"after": "The id of the last event that you have: later ones follow."},
        page=20,
        most=100,
        read_only=True,
        about="What happened to one agent, or without `agentId` to all of them, also to deleted ones: started, "
        "stopped, failed, paid, warned, deleted.",
    ),
    Tool(
        name="list_backups",
        title="List backups",
        operations=("listAgentBackups",),
        takes=("agentId",),
        read_only=True,
        about="The backups of an agent's data, newest first. restore_backup takes the `name` of one.",
    ),
)
