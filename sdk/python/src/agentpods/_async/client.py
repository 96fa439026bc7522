"""The client."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

import httpx

from agentpods._async.agents import AsyncAgentCalls
from agentpods._async.backups import AsyncBackupCalls
from agentpods._async.connection import AsyncConnection
from agentpods._async.events import AsyncEventCalls
from agentpods._async.webhooks import AsyncWebhookCalls
from agentpods._generated.async_calls import AsyncCalls
from agentpods._wire.call import IDEMPOTENCY_KEY, ApiCall, checked
from agentpods._wire.settings import TIMEOUT, settings


class AsyncAgentpods:
    """The asynchronous client of one service.

    `agents`, `backups`, `events` and `webhooks` have the usual calls, `api` has every operation of the API.
    What is not given comes from the environment: AGENTPODS_URL and AGENTPODS_API_KEY. An empty `api_key` calls without
    a credential.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = TIMEOUT,
        max_retries: int = 3,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._settings = settings(base_url, api_key, timeout=timeout, max_retries=max_retries)
        self._connection = AsyncConnection(self._settings, http)
        self.api = AsyncCalls(self._connection)
        self.agents = AsyncAgentCalls(self.api)
        self.backups = AsyncBackupCalls(self.api, self._connection)
        self.events = AsyncEventCalls(self.api)
        self.webhooks = AsyncWebhookCalls(self.api)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings.base_url!r})"

    async def call(self, method: str, path: str, *, body: object = None, idempotency_key: str | None = None) -> Any:
        """A call that `api` does not have, such as one of a newer service. Returns its JSON, None if it has none.

        `path` is as the service reads it, with its query: `/agents?status=running`.
        """
        call = ApiCall(
            checked(method), checked(path, begins="/"), headers={IDEMPOTENCY_KEY: idempotency_key}, body=body
        )
        reply = await self._connection.reply(call)
        return reply.body() if reply.content else None

    async def close(self) -> None:
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
