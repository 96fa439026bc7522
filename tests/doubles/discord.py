"""Discord on loopback: the gateway's WebSocket, and the part of the REST API that a talking bot needs.

`write` sends a message of a person to the bot, in a private chat or in the text channel of the bot's only server;
`sent` has the bot's messages. After a change of `token`, the bot's old token is refused. As with Discord itself, a
message that was written while the bot was not connected reaches the bot only through REST.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
import zlib
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Self

from aiohttp import WSMsgType, web

Json = dict[str, Any]
TOKEN = "MTAwMDAwMDAwMDAwMDAwMDA5.bot-token-of-the-owners-discord-bot"  # begins with the bot's id, as all tokens do
EPOCH_MS = 1420070400000
GUILD, TEXT_CHANNEL = "100000000000000001", "100000000000000002"
BOT = {"id": "100000000000000009", "username": "zorblax", "discriminator": "0000", "avatar": None, "bot": True}
ANN, BOB = "100000000000000077", "100000000000000078"
HEARTBEAT_MS = 5_000
_TYPE = {"Content-Type": "application/json"}  # exactly the header that the Discord library expects
INVALID_TOKEN = 4004  # a close code of the gateway
_DISPATCH, _HEARTBEAT, _IDENTIFY, _RESUME, _INVALID, _HELLO, _ACK = 0, 1, 2, 6, 9, 10, 11


@dataclass(frozen=True, slots=True)
class Said:
    channel: str
    text: str
    answers: str | None  # the id of the message that this one replies to


class DiscordDouble:
    def __init__(self, *, token: str = TOKEN) -> None:
        self.token = token
        self.calls: list[str] = []
        self.identified = self.resumed = 0
        self._messages: dict[str, list[Json]] = {TEXT_CHANNEL: []}
        self._recipients: dict[str, str] = {}  # of private channels
        self._last_number = 0
        self._session: _Session | None = None
        self.is_deaf = False  # if set, the gateway accepts connections and answers nothing
        self._runner: web.AppRunner | None = None
        self._loop = asyncio.new_event_loop()
        self._port: Future[int] = Future()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._port.result(10)}"

    @property
    def sent(self) -> list[Said]:
        return [
            Said(channel, message["content"], (message.get("message_reference") or {}).get("message_id"))
            for channel, messages in list(self._messages.items())
            for message in list(messages)
            if message["author"]["id"] == BOT["id"]
        ]

    @property
    def is_connected(self) -> bool:
        return self._session is not None and self._session.wire is not None

    def write(self, text: str, *, person: str = ANN, channel: str | None = None) -> str:
        """Send a private message, or one in `channel`. Returns its id."""
        return asyncio.run_coroutine_threadsafe(self._write(text, person, channel), self._loop).result(10)

    def cut(self) -> None:
        """Break the connection. When the bot resumes it, it gets the events that it missed."""
        session = self._session
        if session is not None:
            asyncio.run_coroutine_threadsafe(session.cut(), self._loop).result(10)

    def vanish(self) -> None:
        """Stop listening, and close all connections."""
        runner = self._runner
        if runner is not None:
            asyncio.run_coroutine_threadsafe(runner.cleanup(), self._loop).result(10)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # Below: code that runs in the double's own thread.

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.run_forever()

    async def _serve(self) -> None:
        app = web.Application(middlewares=[self._guarded])
        app.router.add_get("/gateway", self._gateway)
        v10 = "/api/v10"
        answers: dict[tuple[str, str], Callable[[web.Request], Awaitable[Any]]] = {
            ("GET", "/gateway/bot"): self._gateway_address,
            ("GET", "/users/@me"): self._me,
            ("GET", "/users/@me/guilds"): self._guilds,
            ("GET", "/guilds/{guild}/channels"): self._guild_channels,
            ("GET", "/guilds/{guild}/threads/active"): self._threads,
            ("POST", "/users/@me/channels"): self._open_private,
            ("GET", "/oauth2/applications/@me"): self._application,
            ("GET", "/channels/{channel}"): self._channel,
            ("GET", "/channels/{channel}/messages"): self._history,
            ("GET", "/channels/{channel}/messages/{message}"): self._message,
            ("POST", "/channels/{channel}/messages"): self._post,
            ("PATCH", "/channels/{channel}/messages/{message}"): self._edit,
        }
        for (method, path), answer in answers.items():
            app.router.add_route(method, v10 + path, _as_json(answer))
        app.router.add_post(f"{v10}/channels/{{channel}}/typing", _nothing)
        app.router.add_route("*", f"{v10}/channels/{{channel}}/messages/{{message}}/reactions/{{rest:.*}}", _nothing)
        app.router.add_route("*", f"{v10}/applications/{{application}}/commands", self._commands)
        runner = self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self._port.set_result(runner.addresses[0][1])

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.calls.append(f"{request.method} {request.path}")
        if request.path.startswith("/api") and request.headers.get("Authorization") != f"Bot {self.token}":
            return _json({"message": "401: Unauthorized", "code": 0}, status=401)
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _gateway(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        wire = _Wire(socket, compress=request.query.get("compress") == "zlib-stream")
        if not self.is_deaf:
            await wire.send({"op": _HELLO, "d": {"heartbeat_interval": HEARTBEAT_MS}})
        async for frame in socket:
            if frame.type == WSMsgType.TEXT:
                await self._take(wire, json.loads(frame.data))
        if self._session is not None and self._session.wire is wire:
            self._session.wire = None
        return socket

    async def _take(self, wire: _Wire, frame: Json) -> None:
        if self.is_deaf:
            return
        if frame["op"] == _HEARTBEAT:
            await wire.send({"op": _ACK, "d": None})
        elif frame["op"] in {_IDENTIFY, _RESUME} and frame["d"].get("token") != self.token:
            await wire.socket.close(code=INVALID_TOKEN, message=b"Authentication failed.")
        elif frame["op"] == _IDENTIFY:
            await self._identify(wire)
        elif frame["op"] == _RESUME:
            await self._resume(wire, frame["d"])

    async def _identify(self, wire: _Wire) -> None:
        self.identified += 1
        self._session = _Session(f"session-{self.identified}", wire)
        ready = {
            "v": 10, "user": BOT, "guilds": [{"id": GUILD, "unavailable": True}], "session_id": self._session.name,
            "resume_gateway_url": self._socket_url(), "private_channels": [],
            "application": {"id": BOT["id"], "flags": 0}, "relationships": [],
        }  # fmt: skip
        await self._session.dispatch("READY", ready)
        await self._session.dispatch("GUILD_CREATE", self._guild())

    def _socket_url(self) -> str:
        return f"ws://127.0.0.1:{self._port.result()}/gateway"

    async def _resume(self, wire: _Wire, given: Json) -> None:
        if self._session is None or self._session.name != given["session_id"]:
            await wire.send({"op": _INVALID, "d": False})
            return
        self.resumed += 1
        await self._session.resume(wire, after=given["seq"])

    def _guild(self) -> Json:
        everyone = {"id": GUILD, "name": "@everyone", "permissions": str(2**40 - 1), "position": 0, "color": 0,
                    "hoist": False, "managed": False, "mentionable": False, "flags": 0}  # fmt: skip
        member = {"user": BOT, "roles": [], "joined_at": _stamp(), "deaf": False, "mute": False, "flags": 0}
        return {
            "id": GUILD, "name": "Reef", "owner_id": ANN, "roles": [everyone], "emojis": [], "stickers": [],
            "channels": [self._text_channel()], "threads": [], "members": [member], "member_count": 1,
            "presences": [], "voice_states": [], "stage_instances": [], "guild_scheduled_events": [],
            "joined_at": _stamp(), "large": False, "unavailable": False, "features": [], "afk_timeout": 300,
            "verification_level": 0, "default_message_notifications": 0, "explicit_content_filter": 0, "mfa_level": 0,
            "system_channel_flags": 0, "premium_tier": 0, "preferred_locale": "en-US", "nsfw_level": 0,
            "premium_progress_bar_enabled": False, "icon": None, "splash": None, "banner": None, "description": None,
            "afk_channel_id": None, "system_channel_id": None, "rules_channel_id": None, "vanity_url_code": None,
            "application_id": None, "discovery_splash": None, "public_updates_channel_id": None, "max_members": 500000,
        }  # fmt: skip

    def _text_channel(self) -> Json:
        return {
            "id": TEXT_CHANNEL, "type": 0, "guild_id": GUILD, "name": "general", "position": 0, "topic": None,
            "permission_overwrites": [], "nsfw": False, "parent_id": None, "rate_limit_per_user": 0,
            "last_message_id": self._last_of(TEXT_CHANNEL),
        }  # fmt: skip

    def _private_channel(self, channel: str) -> Json:
        person = _person(self._recipients[channel])
        return {"id": channel, "type": 1, "recipients": [person], "last_message_id": self._last_of(channel), "flags": 0}

    def _last_of(self, channel: str) -> str | None:
        return self._messages[channel][-1]["id"] if self._messages.get(channel) else None

    async def _write(self, text: str, person: str, channel: str | None) -> str:
        where = channel or self._private_of(person)
        message = self._new_message(where, text, _person(person))
        if self._session is not None:
            await self._session.dispatch("MESSAGE_CREATE", message)
        return str(message["id"])

    def _private_of(self, person: str) -> str:
        for channel, whose in self._recipients.items():
            if whose == person:
                return channel
        channel = self._number()
        self._recipients[channel] = person
        self._messages[channel] = []
        return channel

    def _new_message(self, channel: str, text: str, author: Json, answers: str | None = None) -> Json:
        mentions = [BOT] if f"<@{BOT['id']}>" in text else []
        message = {
            "id": self._number(), "channel_id": channel, "author": author, "content": text, "timestamp": _stamp(),
            "edited_timestamp": None, "tts": False, "mention_everyone": False, "mentions": mentions,
            "mention_roles": [], "attachments": [], "embeds": [], "pinned": False, "type": 19 if answers else 0,
            "flags": 0, "components": [],
        }  # fmt: skip
        if channel == TEXT_CHANNEL:
            message["guild_id"] = GUILD
        if answers:
            message["message_reference"] = {"message_id": answers, "channel_id": channel, "type": 0}
        self._messages[channel].append(message)
        return message

    def _number(self) -> str:
        self._last_number = max(self._last_number + 1, int(time.time() * 1000 - EPOCH_MS) << 22)
        return str(self._last_number)

    # The REST API.

    async def _me(self, _: web.Request) -> Json:
        return {**BOT, "verified": True, "mfa_enabled": False, "email": None, "flags": 0, "locale": "en-US"}

    async def _gateway_address(self, _: web.Request) -> Json:
        limit = {"total": 1000, "remaining": 999, "reset_after": 86_400_000, "max_concurrency": 1}
        return {"url": self._socket_url(), "shards": 1, "session_start_limit": limit}

    async def _guilds(self, _: web.Request) -> list[Json]:
        return [{"id": GUILD, "name": "Reef", "icon": None, "owner": False, "permissions": "0", "features": []}]

    async def _guild_channels(self, _: web.Request) -> list[Json]:
        return [self._text_channel()]

    async def _threads(self, _: web.Request) -> Json:
        return {"threads": [], "members": []}

    async def _application(self, _: web.Request) -> Json:
        return {
            "id": BOT["id"], "name": "zorblax", "icon": None, "description": "", "bot_public": True, "team": None,
            "owner": _person(ANN), "bot_require_code_grant": False, "verify_key": "0", "flags": 0, "rpc_origins": [],
        }  # fmt: skip

    async def _open_private(self, request: web.Request) -> Json:
        return self._private_channel(self._private_of((await request.json())["recipient_id"]))

    async def _channel(self, request: web.Request) -> Json:
        channel = self._known(request)
        return self._private_channel(channel) if channel in self._recipients else self._text_channel()

    async def _history(self, request: web.Request) -> list[Json]:
        messages = self._messages[self._known(request)]
        after, before = int(request.query.get("after") or 0), int(request.query.get("before") or 2**63)
        found = [message for message in messages if after < int(message["id"]) < before]
        limit = int(request.query.get("limit") or 50)
        return (found[:limit] if "after" in request.query else found[-limit:])[::-1]

    async def _message(self, request: web.Request) -> Json:
        wanted = request.match_info["message"]
        for message in self._messages[self._known(request)]:
            if message["id"] == wanted:
                return message
        raise _unknown("Message", 10008)

    async def _post(self, request: web.Request) -> Json:
        channel, given = self._known(request), await _given(request)
        text = str(given.get("content") or "")
        if not text.strip() or len(text) > 2000:
            raise web.HTTPBadRequest(text=json.dumps({"message": "Invalid Form Body", "code": 50035}), headers=_TYPE)
        return self._new_message(channel, text, BOT, (given.get("message_reference") or {}).get("message_id"))

    async def _edit(self, request: web.Request) -> Json:
        message = await self._message(request)
        message.update(content=(await _given(request))["content"], edited_timestamp=_stamp())
        return message

    async def _commands(self, request: web.Request) -> web.Response:
        given = await request.json() if request.can_read_body else []
        commands = given if isinstance(given, list) else [given]
        kept = [{**command, "id": self._number(), "application_id": BOT["id"], "version": "1"} for command in commands]
        return _json(kept if isinstance(given, list) else kept[0])

    def _known(self, request: web.Request) -> str:
        channel = request.match_info["channel"]
        if channel not in self._messages:
            raise _unknown("Channel", 10003)
        return channel


class _Wire:
    """One connection of the bot to the gateway."""

    def __init__(self, socket: web.WebSocketResponse, *, compress: bool) -> None:
        self.socket = socket
        self._deflate = zlib.compressobj() if compress else None

    async def send(self, frame: Json) -> None:
        text = json.dumps({"t": None, "s": None, **frame})
        if self._deflate is None:
            await self.socket.send_str(text)
            return
        await self.socket.send_bytes(self._deflate.compress(text.encode()) + self._deflate.flush(zlib.Z_SYNC_FLUSH))


class _Session:
    """The events that the bot got since it identified itself. The session survives a broken connection."""

    def __init__(self, name: str, wire: _Wire) -> None:
        self.name = name
        self.wire: _Wire | None = wire
        self._told: list[Json] = []

    async def dispatch(self, event: str, payload: Json) -> None:
        self._told.append({"op": _DISPATCH, "t": event, "s": len(self._told) + 1, "d": payload})
        if self.wire is not None and not self.wire.socket.closed:
            await self.wire.send(self._told[-1])

    async def resume(self, wire: _Wire, *, after: int) -> None:
        self.wire = wire
        for frame in self._told[after:]:
            await wire.send(frame)
        await self.dispatch("RESUMED", {})

    async def cut(self) -> None:
        if self.wire is not None:
            await self.wire.socket.close(code=4000)


def _person(number: str) -> Json:
    name = {ANN: "ann", BOB: "bob"}.get(number, f"p{number}")
    return {"id": number, "username": name, "global_name": name.title(), "discriminator": "0", "avatar": None}


def _stamp() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000000+00:00", time.gmtime())


def _unknown(what: str, code: int) -> web.HTTPNotFound:
    return web.HTTPNotFound(text=json.dumps({"message": f"Unknown {what}", "code": code}), headers=_TYPE)


def _json(body: Any, status: int = 200) -> web.Response:
    return web.Response(body=json.dumps(body).encode(), status=status, headers=_TYPE)


async def _given(request: web.Request) -> Json:
    if request.content_type == "application/json":
        body: Json = await request.json()
        return body
    found: Json = json.loads(str((await request.post())["payload_json"]))
    return found


def _as_json(answer: Callable[[web.Request], Awaitable[Any]]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        return _json(await answer(request))

    return handle


async def _nothing(_: web.Request) -> web.Response:
    return web.Response(status=204)
