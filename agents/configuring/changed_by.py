"""Which call changes each field of an agent. A call that gets a field it cannot change names the call that can.

Every field that an agent shows or that one of its calls takes is in this table. Only unknown fields are ignored.
"""

from __future__ import annotations

_SERVICE = "the service sets it"
_PATCH = "PATCH /agents/{id} changes it"
_CHOSEN = "it is chosen once, by POST /agents"
_KEY = "PATCH /agents/{id}/llm-key takes it"
_TOOLS = "PUT /agents/{id}/tools takes it"
_CHANNELS = "PUT /agents/{id}/channels takes it"
_A2A = "PUT /agents/{id}/a2a takes it"
_WEBHOOK = "PUT /agents/{id}/webhook takes it"

CHANGED_BY: dict[str, str] = {
    "id": _SERVICE,
    "userId": _SERVICE,
    "personaId": _CHOSEN,
    "name": _PATCH,
    "tier": _PATCH,
    "channels": _CHANNELS,
    "createdAt": _SERVICE,
    "status": "POST /agents/{id}/pause and POST /agents/{id}/resume change it",
    "dseq": _SERVICE,
    "endpointUrl": _SERVICE,
    "llmKeyHash": f"{_SERVICE} when PATCH /agents/{{id}}/llm-key installs a key",
    "dashUsername": _SERVICE,
    "dashPassword": _SERVICE,
    "quotaStatus": _SERVICE,
    "quota": _SERVICE,
    "lang": _PATCH,
    "domain": "PUT /agents/{id}/domain changes it, and DELETE /agents/{id}/domain gives it back",
    "tools": "PUT /agents/{id}/tools takes what is in it",
    "llmProvider": f"{_KEY} as provider",
    "lastBackupAt": _SERVICE,
    "model": _KEY,
    "engine": _CHOSEN,
    "timezone": _PATCH,
    "a2aToken": f"{_SERVICE} while A2A is on: PUT /agents/{{id}}/a2a",
    "a2aUrl": _SERVICE,
    "extraSoul": _PATCH,
    "a2aPeers": f"{_A2A} as peers",
    "a2aSlug": _SERVICE,
    "trialNoticeDay": _SERVICE,
    "telegramTokenEnc": f"{_SERVICE} when PUT /agents/{{id}}/channels gets a telegramToken",
    "a2aListed": f"{_A2A} as listed",
    "webhookUrl": f"{_WEBHOOK} as url",
    "webhookLastStatus": _SERVICE,
    "webhookLastAt": _SERVICE,
    "webhookLastEvent": _SERVICE,
    # Fields that calls take and that an agent does not show.
    "a2a": "PUT /agents/{id}/a2a takes what is in it",
    "channelSecrets": _CHANNELS,
    "enabled": f"{_TOOLS}, and PUT /agents/{{id}}/a2a",
    "key": _KEY,
    "listed": _A2A,
    "peers": _A2A,
    "rotateToken": _A2A,
    "llmKey": f"{_KEY} as key",
    "mcpServers": _TOOLS,
    "provider": _KEY,
    "soul": "it is the persona's: PATCH /personas/{id} changes a persona of yours, extraSoul adds to it",
    "telegramToken": _CHANNELS,
    "url": _WEBHOOK,
    "webhookSecret": "the service makes a new one at each PUT /agents/{id}/webhook",
}
