"""The same JSON as `GET /agents/{id}` and `GET /agents`, from plain views: constant SQL, a dict, orjson.

One statement checks the key and reads the row. Encrypted columns are decrypted only where the answer contains them.
"""

from __future__ import annotations

import json
from typing import Any

import orjson
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse

from config.crypto import decrypt, sha256

_NAMES = {
    "id": "a.id",
    "userId": "a.user_id",
    "personaId": "a.persona_id",
    "name": "a.name",
    "tier": "a.tier",
    "channels": "a.channels",
    "createdAt": "a.created_at",
    "status": "a.status",
    "dseq": "a.dseq",
    "endpointUrl": "a.endpoint_url",
    "llmKeyHash": "a.llm_key_hash",
    "dashUsername": "a.dash_username",
    "dashPassword": "a.dash_password",
    "quotaStatus": "coalesce(q.status, 'ok')",
    "quota": "NULL",
    "lang": "a.lang",
    "domain": "a.domain",
    "tools": "NULL",
    "llmProvider": "a.llm_provider",
    "lastBackupAt": "a.last_backup_at",
    "model": "a.model",
    "engine": "a.engine",
    "timezone": "a.timezone",
    "a2aToken": "a.a2a_token",
    "a2aUrl": "NULL",
    "extraSoul": "a.extra_soul",
    "a2aPeers": "NULL",
    "a2aSlug": "a.slug",
    "trialNoticeDay": "a.trial_notice_day",
    "telegramTokenEnc": "a.channel_secrets",
    "a2aListed": "a.a2a_listed",
    "webhookUrl": "h.url",
    "webhookLastStatus": "h.last_status",
    "webhookLastAt": "h.last_at",
    "webhookLastEvent": "h.last_event",
}
_SEALED = ("dashPassword", "a2aToken")
_SELECT = f"""
SELECT {", ".join(_NAMES.values())}
FROM accounts_apikey k
JOIN accounts_user u ON u.id = k.user_id AND u.is_active
JOIN agents_agent a ON a.user_id = u.id AND a.desired <> 'deleted'
LEFT JOIN agents_agentquota q ON q.agent_id = a.id
LEFT JOIN webhooks_hook h ON h.agent_id = a.id
WHERE k.digest = %s AND k.revoked_at IS NULL
"""
_ONE = _SELECT + " AND a.id = %s"
_MANY = _SELECT + " ORDER BY a.created_at DESC, a.id DESC LIMIT 1001"


def one(request: HttpRequest, id: str) -> HttpResponse:
    rows = _rows(_ONE, [_digest(request), id])
    if not rows:
        raise Http404
    return _answer({"agent": _shape(rows[0])})


def many(request: HttpRequest) -> HttpResponse:
    return _answer({"agents": [_shape(row) for row in _rows(_MANY, [_digest(request)])]})


def _digest(request: HttpRequest) -> str:
    return sha256(request.META["HTTP_AUTHORIZATION"].removeprefix("Bearer "))


def _rows(query: str, values: list[str]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def _shape(row: tuple[Any, ...]) -> dict[str, Any]:
    body = dict(zip(_NAMES, row, strict=True))
    for name in _SEALED:
        if body[name] is not None:
            body[name] = decrypt(body[name])
    body["telegramTokenEnc"] = "set" if "telegramToken" in json.loads(decrypt(body["telegramTokenEnc"])) else None
    if body["webhookUrl"] is None:
        for name in ("webhookUrl", "webhookLastStatus", "webhookLastAt", "webhookLastEvent"):
            del body[name]
    return body


def _answer(body: dict[str, Any]) -> HttpResponse:
    encoded = orjson.dumps(body, option=orjson.OPT_UTC_Z)
    return HttpResponse(encoded, content_type="application/json")
