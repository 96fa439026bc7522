"""Discord, changed inside hermes' own process (hermes_start.py): each message is answered once, also if hermes was not
connected or was ended.
Discord sends a message once, and only to a connected bot. So missed messages are fetched: the newest messages of the
channels that have new ones, and of the known private chats. This module imports nothing from this project.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

# Discord's message numbers contain the time: milliseconds since this moment, before 22 other bits.
EPOCH_SECONDS = 1_420_070_400.0
# Messages that are at most this much older than the newest known message may have been lost on the way.
MARGIN_SECONDS = 60.0
OF_ONE_CHANNEL = 50
CHANNELS_ASKED = 100
# The reason, for the owner, why a bot is not connected, by the name of the error.
REFUSALS = {
    "LoginFailure": "the service refuses the bot's token",
    "PrivilegedIntentsRequired": "the bot lacks Discord's Message Content Intent: switch it on in the developer portal",
}
# The close code of Discord's gateway for an invalid token.
REFUSED_TOKEN = 4004
LOST = "the connection to Discord is lost, and there is no new one yet"
FAILURE_CHARACTERS = 200
PRIVATE = "private:"  # Discord does not tell a bot which private chats it has, so they are remembered


def change(home: Path) -> None:
    turns: Any = importlib.import_module("hermes_turns")
    discord: Any = importlib.import_module("discord")
    if "POD_DISCORD_URL" in os.environ:
        url = os.environ["POD_DISCORD_URL"]
        discord.http.Route.BASE = f"{url}/api/v10"
        gateway = importlib.import_module("yarl").URL(f"ws{url.removeprefix('http')}/gateway")
        discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = gateway
    turns.when_made("discord", Messages(turns, home, discord).follow)


class Messages:
    """Writes each message that reaches hermes into the file before it is processed."""

    def __init__(self, turns: Any, home: Path, discord: Any) -> None:
        self._module = turns
        self._discord = discord
        self._kept = importlib.import_module("hermes_kept").Kept(home, "discord")
        self._turns = turns.HermesTurns(self._kept)
        self._begun: set[str] = set()
        self._has_taken_up = False
        self._failures: list[str] = []  # of the last attempt to connect

    def follow(self, adapter: Any) -> None:
        self._turns.follow(adapter)
        self._keep(adapter)
        self._name(adapter)
        self._tell(adapter)
        self._take_up(adapter)

    def _keep(self, adapter: Any) -> None:
        dispatch = getattr(adapter, "_dispatch_discord_message")  # noqa: B009 # an internal method of hermes

        async def kept(one: Any, message: Any) -> bool:
            name = str(message.id)
            self._kept.add(name, str(message.channel.id))
            if isinstance(message.channel, self._discord.DMChannel):
                self._kept.remember(f"{PRIVATE}{message.channel.id}")
            if name in self._begun or self._kept.is_over(name):
                return False
            self._begun.add(name)
            admitted: bool = await dispatch(one, message)
            if not self._turns.is_held(name):  # the message is not for the agent
                self._kept.over([name])
            return admitted

        setattr(adapter, "_dispatch_discord_message", kept)  # noqa: B010

    def _name(self, adapter: Any) -> None:
        handle, enqueue = adapter.handle_message, getattr(adapter, "_enqueue_text_event")  # noqa: B009

        async def named(one: Any, event: Any) -> None:
            self._named(event)
            await handle(one, event)

        def joined(one: Any, event: Any) -> None:
            self._named(event)
            first = vars(one)["_pending_text_batches"].get(getattr(one, "_text_batch_key")(event))  # noqa: B009
            self._module.join(first, event)
            enqueue(one, event)

        adapter.handle_message = named
        setattr(adapter, "_enqueue_text_event", joined)  # noqa: B010

    def _named(self, event: Any) -> None:
        if event.message_id and str(event.message_id) in self._begun:
            self._module.name(event, str(event.message_id))

    def _take_up(self, adapter: Any) -> None:
        connect, start = adapter.connect, self._discord.Client.start

        async def started(client: Any, *given: Any, **named: Any) -> None:
            try:
                await start(client, *given, **named)
            except Exception as error:
                self._failures.append(_words(error))
                raise

        async def connected(one: Any, **named: Any) -> bool:
            self._failures.clear()
            done: bool = await connect(one, **named)
            if not done and self._failures:  # hermes itself gives no reason
                getattr(one, "_set_fatal_error")("discord_not_connected", self._failures[-1], retryable=True)  # noqa: B009
            if done:
                vars(one)["_background_tasks"].add(asyncio.create_task(self._catch_up(one)))
            return done

        adapter.connect, self._discord.Client.start = connected, started

    def _tell(self, adapter: Any) -> None:
        """Replace hermes' message about a lost connection by one for the agent's owner."""
        tell = getattr(adapter, "_set_fatal_error")  # noqa: B009

        def told(one: Any, code: str, message: str, *, retryable: bool) -> None:
            ended = self._failures[-1] if self._failures else message
            known = {"discord_gateway_task_exited": ended, "discord_websocket_health_stale": LOST}
            tell(one, code, known.get(code, message), retryable=retryable)

        setattr(adapter, "_set_fatal_error", told)  # noqa: B010

    async def _catch_up(self, adapter: Any) -> None:
        try:
            await self._bring(adapter)
        except Exception:
            log.exception("messages of Discord that were missed are not known")

    async def _bring(self, adapter: Any) -> None:
        client, dispatch = vars(adapter)["_client"], getattr(adapter, "_dispatch_discord_message")  # noqa: B009
        newest = max((int(name) for name in self._kept.names() if name.isdigit()), default=0)
        async for message in self._cut_off(client):
            await dispatch(message)
        if not newest:  # this is the first start, so nothing was missed
            self._kept.remember(str(_number_at(time.time())))
            return
        after = max(
            newest - (int(MARGIN_SECONDS * 1000) << 22),
            _number_at(time.time() - importlib.import_module("hermes_kept").KEPT_SECONDS),
        )
        known = set(self._kept.names())
        async for message in self._missed(client, after):
            if str(message.id) not in known:
                await dispatch(message)

    async def _cut_off(self, client: Any) -> AsyncIterator[Any]:
        if self._has_taken_up:
            return
        self._has_taken_up = True
        for name, channel_number in self._kept.left():
            try:
                channel = client.get_channel(int(channel_number)) or await client.fetch_channel(int(channel_number))
                yield await channel.fetch_message(int(name))
            except (self._discord.NotFound, self._discord.Forbidden):  # the message was deleted
                self._kept.over([name])

    async def _missed(self, client: Any, after: int) -> AsyncIterator[Any]:
        """The missed messages, oldest first. Reads only channels with newer messages."""
        found = []
        async for channel in self._channels(client):
            if not isinstance(channel, self._discord.DMChannel) and (channel.last_message_id or 0) <= after:
                continue
            try:
                since = self._discord.Object(id=after)
                found += [message async for message in channel.history(limit=OF_ONE_CHANNEL, after=since)]
            except self._discord.HTTPException as error:
                log.warning("the missed messages of a channel of Discord are not known: %s", error)
        for message in sorted(found, key=lambda one: int(one.id)):
            yield message

    async def _channels(self, client: Any) -> AsyncIterator[Any]:
        private = [name.removeprefix(PRIVATE) for name in self._kept.names() if name.startswith(PRIVATE)]
        for number in private[-CHANNELS_ASKED:]:
            try:
                yield await client.fetch_channel(int(number))
            except self._discord.HTTPException as error:
                log.warning("a private chat of Discord is not known: %s", error)
        for guild in client.guilds:
            for channel in [*guild.text_channels, *guild.threads]:
                if channel.permissions_for(guild.me).read_message_history:
                    yield channel


def _number_at(seconds: float) -> int:
    return int((seconds - EPOCH_SECONDS) * 1000) << 22


def _words(error: Exception) -> str:
    if known := REFUSALS.get(type(error).__name__):
        return known
    if getattr(error, "code", None) == REFUSED_TOKEN:
        return REFUSALS["LoginFailure"]
    return f"no connection to Discord: {type(error).__name__}: {error}"[:FAILURE_CHARACTERS]
