"""Backups of an agent."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from agentpods._async.connection import AsyncConnection
from agentpods._generated import types
from agentpods._generated.async_calls import AsyncCalls
from agentpods._wire.call import ApiCall, in_path
from agentpods.errors import ServerError

ASKS = 10  # a backup of much data takes longer than a call; a repeat joins it


class AsyncBackupCalls:
    def __init__(self, api: AsyncCalls, connection: AsyncConnection) -> None:
        self._api, self._connection = api, connection

    async def create(self, agent_id: str) -> types.BackupEntry:
        """Back up now, and wait for the end."""
        for left in reversed(range(ASKS)):
            try:
                return (await self._api.create_agent_backup(agent_id))["backup"]
            except ServerError as error:
                if error.retry_after is None or not left:
                    raise
                await asyncio.sleep(min(error.retry_after, 60.0))
        raise AssertionError("the last turn returns or raises")

    async def list(self, agent_id: str) -> Sequence[types.BackupEntry]:
        return (await self._api.list_agent_backups(agent_id))["backups"]

    async def download(self, agent_id: str, name: str, to: str | os.PathLike[str]) -> int:
        """Write the backup to a new file, a tar.gz that only you can read. Returns its size in bytes."""
        call = ApiCall("GET", f"/agents/{in_path(agent_id)}/backups/{in_path(name)}")
        return await self._connection.download(call, Path(to))

    async def restore(self, agent_id: str, name: str, *, wait: int | None = None) -> types.Agent:
        """Put a backup in the place of the agent's data."""
        return (await self._api.restore_agent_backup(agent_id, name, wait=wait))["agent"]

    async def delete(self, agent_id: str, name: str) -> None:
        await self._api.delete_agent_backup(agent_id, name)
