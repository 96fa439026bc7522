"""Agents in their JSON form from the rows of one statement, for the two reads that clients call all the time.

`AgentSerializer` says what the form is, and a test holds both together. No model and no serializer is made here: for a
list of agents these would cost more than all the rest.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from cryptography.fernet import InvalidToken
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast
from rest_framework.serializers import SerializerMethodField

from agents.models import Agent, QuotaStatus
from agents.running import pods
from agents.serializers.agents import AgentSerializer, AgentToolsSerializer, share
from config.crypto import Unreadable, decrypt


class _Known(NamedTuple):
    """The columns of an agent from which fields are worked out, by their names in a query."""

    slug: str
    a2a_enabled: bool
    a2a_peers: list[dict[str, Any]] | None
    channel_secrets: dict[str, str]
    tools_enabled: list[str] | None
    sealed_servers: str
    quota_snapshot__status: str | None
    quota_snapshot__memory_used_bytes: int | None
    quota_snapshot__memory_limit_bytes: int | None
    quota_snapshot__disk_used_bytes: int | None
    quota_snapshot__disk_total_bytes: int | None
    quota_snapshot__updated_at: datetime | None


WORKED_OUT = ("quotaStatus", "quota", "tools", "a2aUrl", "a2aPeers", "telegramTokenEnc")


@functools.cache
def _plain() -> dict[str, str]:
    """The fields that are a column, by their names in JSON, with the names of their columns in a query."""
    fields = AgentSerializer().fields.items()
    derived = {name for name, field in fields if isinstance(field, SerializerMethodField)} | {"a2aPeers"}
    if derived != set(WORKED_OUT):
        raise TypeError(f"agents/serializers/agent_rows.py must work out {', '.join(sorted(derived))}")
    return {name: "__".join(field.source_attrs) for name, field in fields if name not in derived}


@functools.cache
def _form() -> dict[str, None]:
    return dict.fromkeys(AgentSerializer().fields)


def columns(agents: QuerySet[Agent], *, before: Sequence[str] = ()) -> QuerySet[Agent, Any]:
    """These agents, with the columns that `agent` needs after those of `before`."""
    sealed = agents.annotate(sealed_servers=Cast("mcp_servers", TextField()))  # most agents have none to decrypt
    return sealed.values_list(*before, *_plain().values(), *_Known._fields)


def agent(row: Sequence[Any], *, now: datetime) -> dict[str, Any]:
    """One agent. Raises InvalidToken for an encrypted value whose key is lost."""
    plain = _plain()
    if any(isinstance(value, Unreadable) for value in row):
        raise InvalidToken
    known = _Known(*row[len(plain) :])
    body: dict[str, Any] = _form().copy()
    body.update(zip(plain, row, strict=False))
    body["quotaStatus"] = known.quota_snapshot__status or QuotaStatus.OK.value
    body["quota"] = _quota(known, now=now)
    body["tools"] = _tools(known)
    body["a2aUrl"] = pods.a2a_url(known)
    peers = known.a2a_peers
    body["a2aPeers"] = None if peers is None else [{"name": peer["name"], "url": peer["url"]} for peer in peers]
    body["telegramTokenEnc"] = "set" if "telegramToken" in known.channel_secrets else None
    if body["webhookUrl"] is None:
        for name in ("webhookUrl", "webhookLastStatus", "webhookLastAt", "webhookLastEvent"):
            del body[name]
    return body


def _quota(known: _Known, *, now: datetime) -> dict[str, Any] | None:
    updated_at = known.quota_snapshot__updated_at
    if updated_at is None:
        return None
    memory, memory_limit = known.quota_snapshot__memory_used_bytes, known.quota_snapshot__memory_limit_bytes
    disk, disk_total = known.quota_snapshot__disk_used_bytes, known.quota_snapshot__disk_total_bytes
    return {
        "memoryUsedBytes": memory,
        "memoryLimitBytes": memory_limit,
        "memoryPct": share(memory, memory_limit, updated_at=updated_at, now=now),
        "diskUsedBytes": disk,
        "diskTotalBytes": disk_total,
        "diskPct": share(disk, disk_total, updated_at=updated_at, now=now),
        "status": known.quota_snapshot__status,
        "updatedAt": updated_at,
    }


def _tools(known: _Known) -> Any:
    if known.tools_enabled is None:
        return None
    servers = json.loads(decrypt(known.sealed_servers))
    return AgentToolsSerializer({"enabled": known.tools_enabled, "mcp_servers": servers}).data
