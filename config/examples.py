"""Example values for `/openapi.json`: by field name, and whole bodies where single fields would mislead."""

from __future__ import annotations

from typing import Any

FIELDS: dict[str, Any] = {
    "a2aSlug": "exam-coach-sgt3uw",
    "a2aUrl": "https://exam-coach-sgt3uw.pods.example.net/a2a",
    "agentId": "agt_e828253f7adc301470808633",
    "amountStars": 385,
    "anonId": "v1.3f9c",
    "attempts": 1,
    "botUsername": "agentpods_bot",
    "cause": "NO_MODEL_KEY",
    "checkoutUrl": "https://checkout.stripe.com/c/pay/cs_…",
    "checkedAt": "2026-11-21T06:30:00Z",
    "code": "012345",
    "createdAt": "2026-11-21T06:30:00Z",
    "daysLeft": 3,
    "diskPct": 0.0203125,
    "diskTotalBytes": 5368709120,
    "diskUsedBytes": 109051904,
    "domain": "coach.example.com",
    "dseq": "pod-e828253f7adc301470808633-1",
    "durationMs": 84,
    "email": "ann@example.com",
    "enabled": ["web", "memory"],
    "endpointUrl": "https://exam-coach-sgt3uw.pods.example.net",
    "engine": "pi",
    "envVar": "OPENAI_API_KEY",
    "expiresAt": "2026-11-21T06:31:00Z",
    "extraSoul": "Answer in short paragraphs.",
    "finishedAt": "2026-11-21T06:31:00Z",
    "hop": "engine",
    "icon": "🎓",
    "invoiceUrl": "https://t.me/$…",
    "key": "sk-proj-…",
    "lang": "en",
    "latencyMs": 4,
    "llmKey": "sk-proj-…",
    "llmKeyHash": "9faec3b76642cab21c25932f8f7b58a11348faf1bbff0ac7a1605a8e9caecfbe",
    "llmProvider": "openai",
    "memoryLimitBytes": 1073741824,
    "memoryPct": 0.3125,
    "memoryUsedBytes": 335544320,
    "model": "openai:gpt-6-luna",
    "monthlyUsd": 5,
    "next": "PATCH /agents/{id}/llm-key",
    "personaId": "exam-coach",
    "prefix": "ak_live_7Qm2",
    "price": "$5/month",
    "reply": "They turn it into sugar.",
    "sessionId": "ses_5f0c9d2e7a41b3886d20c4f1",
    "spec": "1 GiB RAM, 5 GiB disk, 0.5 CPU",
    "starUsd": 0.013,
    "tier": "small",
    "timezone": "Europe/Berlin",
    "updatedAt": "2026-11-21T06:30:00Z",
    "userId": "usr_763d0c5483bd79652ec1dec3",
    "version": "1.0.0",
    "webhookLastEvent": "agent.running",
    "webhookLastStatus": "204",
    "webhookSecret": "whsec_…",
    "webhookUrl": "https://receiver.example.com/events",
}

PERSONA: dict[str, Any] = {
    "icon": "🦉",
    "name": "Night Owl",
    "tagline": "Company after midnight",
    "forWho": "People who work at night",
    "does": ["Keeps you awake", "Plans the night"],
    "doesExamples": {"Keeps you awake": "Ask me something hard.", "Plans the night": "What do I do first?"},
    "channels": ["web"],
    "category": "social",
    "tags": ["night", "work"],
    "tier": "small",
    "risk": "low",
    "demo": [{"role": "user", "text": "Still three hours."}, {"role": "agent", "text": "Then let us plan them."}],
    "ru": {
        "name": "Ночная сова",
        "tagline": "Компания после полуночи",
        "forWho": "Тем, кто работает ночью",
        "does": ["Не даёт уснуть", "Планирует ночь"],
    },
    "soul": "You are Night Owl. You keep people company who work at night.",
    "recommendedModels": ["openai:gpt-6-luna"],
}
BODIES: dict[str, Any] = {
    "CreateAgentRequest": {
        "personaId": "exam-coach",
        "tier": "small",
        "engine": "pi",
        "name": "Coach",
        "timezone": "Europe/Berlin",
        "webhookUrl": "https://receiver.example.com/events",
    },
    "PatchAgentRequest": {"name": "Coach", "extraSoul": "Answer in short paragraphs."},
    "DraftPersonaRequest": PERSONA,
    "PatchPersonaRequest": {"tagline": "Company after midnight", "ru": None},
    "WriteArticleRequest": {
        "title": "How to stay awake",
        "summary": "Light, water, and a plan.",
        "lang": "en",
        "status": "published",
        "body": "# Light first\n\nThen **water**.",
    },
    "PatchArticleRequest": {"status": "published"},
    "RenameAuthorRequest": {"name": "Olga"},
    "LlmKeyRequest": {"provider": "openai", "key": "sk-proj-…", "model": "openai:gpt-6-luna"},
    "PutAgentToolsRequest": {
        "enabled": ["web", "memory"],
        "mcpServers": [{"name": "notes", "url": "https://mcp.example.com", "headers": {"Authorization": "Bearer …"}}],
        "secrets": {"tavily": "tvly-…"},
    },
    "ChannelsRequest": {"channels": ["web", "telegram"], "channelSecrets": {"telegramToken": "123456:…"}},
    "ChatRequest": {"message": "What do plants do with light?"},
    "BillingDetailsRequest": {
        "name": "Ann Example",
        "address": "Main Street 1\n10115 Berlin",
        "country": "DE",
        "taxId": "DE123456789",
    },
    "ReceiverRequest": {"url": "https://receiver.example.com/events"},
    "Error": {"error": "BAD_REQUEST", "message": "tier: 'huge' is not one of tiny, small, medium, large"},
}


def add_to(schemas: dict[str, Any]) -> None:
    """Add the examples to the components. An example that a view declares is kept."""
    for name, schema in schemas.items():
        if name in BODIES:
            schema.setdefault("examples", [BODIES[name]])
        for field, inner in schema.get("properties", {}).items():
            if field in FIELDS and _fits(FIELDS[field], inner):
                inner.setdefault("examples", [FIELDS[field]])


def _fits(example: Any, schema: dict[str, Any]) -> bool:
    """Whether the field of this schema has the example's type and allows its value."""
    types = schema.get("type", [])
    kind = {str: "string", int: "integer", float: "number", list: "array"}[type(example)]
    named = kind in types or (kind == "integer" and "number" in types)
    return named and example in schema.get("enum", [example])
