# Made from `_async/client.py`: change that file, then `make sdk`.
"""The client."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

import httpx

from agentpods._generated.calls import Calls
from agentpods._sync.agents import AgentCalls
from agentpods._sync.backups import BackupCalls
from agentpods._sync.connection import Connection
from agentpods._sync.events import EventCalls
from agentpods._sync.webhooks import WebhookCalls
from agentpods._wire.call import IDEMPOTENCY_KEY, ApiCall, checked
from agentpods._wire.settings import TIMEOUT, settings


class Agentpods:
    """The blocking client of one service.

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
        http: httpx.Client | None = None,
    ) -> None:
        self._settings = settings(base_url, api_key, timeout=timeout, max_retries=max_retries)
        self._connection = Connection(self._settings, http)
        self.api = Calls(self._connection)
        self.agents = AgentCalls(self.api)
        self.backups = BackupCalls(self.api, self._connection)
        self.events = EventCalls(self.api)
        self.webhooks = WebhookCalls(self.api)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings.base_url!r})"

    def call(self, method: str, path: str, *, body: object = None, idempotency_key: str | None = None) -> Any:
        """A call that `api` does not have, such as one of a newer service. Returns its JSON, None if it has none.

        `path` is as the service reads it, with its query: `/agents?status=running`.
        """
        call = ApiCall(
            checked(method), checked(path, begins="/"), headers={IDEMPOTENCY_KEY: idempotency_key}, body=body
        )
        reply = self._connection.reply(call)
        return reply.body() if reply.content else None

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
