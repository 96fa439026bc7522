"""Turns with a pod's engine, through its gateway.

A turn may take two minutes. So it runs on an event loop, where it costs a connection and no thread. The limits are
those of `management`, which asks a gateway everything else.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

import aiohttp
import orjson

from agents.pod.turns.events import NDJSON, Done, EventReader, TurnEvent
from agents.pod.turns.failures import Hop, HopFailure
from agents.pod.turns.parts import Allowance, Part
from agents.runtimes import certificates, management
from agents.runtimes.base import Access, Endpoint
from config.outbound import OneCall

EVENT_STREAM = "text/event-stream"
LARGE_BYTES = 64 * 1024  # JSON of this size is read in a thread: the event loop serves others meanwhile
LINES_AT_ONCE = 50  # then others have the event loop for a moment

P = ParamSpec("P")
R = TypeVar("R")

Events = AsyncGenerator[TurnEvent | None, None]


@dataclass(frozen=True, slots=True)
class ChatReply:
    reply: str
    session_id: str
    parts: list[Part] = field(default_factory=list)


async def has_key(endpoint: Endpoint, access: Access) -> bool:
    """Whether the gateway has a model key. Raises HopFailure if the gateway does not answer."""
    async with _call("GET", endpoint, access, "/health", seconds=management.HEALTH_SECONDS) as answer:
        return bool((await _body(answer, "has_key"))["has_key"])


async def reply(
    endpoint: Endpoint,
    access: Access,
    *,
    message: str,
    session_id: str | None,
    api_key: Mapping[str, Any] | None = None,
    trace: Mapping[str, str] | None = None,
) -> ChatReply:
    """Run one turn and wait for its end. Raises HopFailure. The reply is empty if the pod has no model key. `trace` has
    the header of a traced turn, `api_key` what the gateway needs to know of the API key that started the turn.
    Cancelling ends the turn.
    """
    body, seconds = _question(message, session_id, api_key), management.TURN_SECONDS
    async with _call("POST", endpoint, access, "/chat", seconds=seconds, body=body, headers=trace) as answer:
        said = await _body(answer, "reply", "session_id")
    given = said.get("parts")
    parts = await asyncio.to_thread(_parts, given) if isinstance(given, list) and given else []
    return ChatReply(said["reply"], said["session_id"], parts)


async def events(
    endpoint: Endpoint,
    access: Access,
    *,
    message: str,
    session_id: str | None,
    api_key: Mapping[str, Any] | None = None,
    trace: Mapping[str, str] | None = None,
) -> Events:
    """The same turn as events, with one Done at the end. Before them comes None, when the pod has begun the turn.
    Closing the generator ends the turn. Raises HopFailure.
    """
    # The second is for a gateway of an older release, which knows it alone.
    headers = {"Accept": f"{NDJSON}, {EVENT_STREAM}", **(trace or {})}
    body, seconds = _question(message, session_id, api_key), management.TURN_SECONDS
    async with _call("POST", endpoint, access, "/chat", seconds=seconds, body=body, headers=headers) as answer:
        if answer.status != 200:
            await _body(answer)
        yield None
        reader = EventReader(Hop.GATEWAY, broken="the pod's gateway broke off")
        told = _OlderLines().told if answer.content_type == EVENT_STREAM else _told
        async with aclosing(_lines(answer)) as lines:
            async for line in lines:
                event = await _aside(len(line), _read, reader, told, line)
                if event:
                    yield event
                if isinstance(event, Done):
                    return
        raise reader.broken


def _question(message: str, session_id: str | None, api_key: Mapping[str, Any] | None) -> dict[str, Any]:
    beside = {"session_id": session_id, "api_key": dict(api_key) if api_key else None}
    return {"message": message, **{name: value for name, value in beside.items() if value}}


def _parts(given: list[object]) -> list[Part]:
    allowance = Allowance()
    return [part for part in map(allowance.read, given) if part]


@asynccontextmanager
async def _call(
    method: str,
    endpoint: Endpoint,
    access: Access,
    path: str,
    *,
    seconds: float,
    body: dict[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> AsyncIterator[aiohttp.ClientResponse]:
    """As `management.call`: one request without redirects, to a gateway that has proven its identity."""
    if not access.certificate:
        raise management.without_certificate()
    if not endpoint.management_url.startswith("https://"):
        raise HopFailure(Hop.GATEWAY, management.unreached("InvalidSchema"))
    connecting = min(management.CONNECT_SECONDS, seconds)
    loop = asyncio.get_running_loop()
    until = loop.time() + connecting + seconds
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=connecting, sock_read=seconds)
    try:
        async with _session(access, timeout) as session:
            async with asyncio.timeout_at(until):
                answer = await session.request(
                    method,
                    endpoint.management_url + path,
                    json=body,
                    headers={"Authorization": f"Bearer {access.token}", **(headers or {})},
                    allow_redirects=False,
                    server_hostname=certificates.NAME,
                )
            cut = loop.call_at(until, answer.close)  # even while nobody reads the answer
            try:
                yield answer
            finally:
                cut.cancel()
                answer.close()
    except (aiohttp.ClientError, OSError) as error:  # a TimeoutError is an OSError
        raise HopFailure(Hop.GATEWAY, _why(error, is_late=loop.time() >= until)) from error


def _session(access: Access, timeout: aiohttp.ClientTimeout) -> aiohttp.ClientSession:
    """Talks only to the holder of the certificate's key, without a proxy. What is compressed is not unpacked."""
    connector = OneCall(limit=0, force_close=True, ssl=certificates.context(access.certificate))
    return aiohttp.ClientSession(
        connector=connector,
        timeout=timeout,
        trust_env=False,
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=("Accept-Encoding",),
    )


def _why(error: Exception, *, is_late: bool) -> str:
    """In the words of `management`, which names the exceptions of another library."""
    if is_late or isinstance(error, TimeoutError):
        return management.LATE
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return management.UNPROVEN
    broke_off = isinstance(error, aiohttp.ClientPayloadError)
    return management.unreached("ChunkedEncodingError" if broke_off else "ConnectionError")


async def _body(answer: aiohttp.ClientResponse, *needed: str) -> dict[str, Any]:
    """The JSON object of a successful answer with these keys. Raises HopFailure for anything else."""
    raw, at_most = bytearray(), management.MAX_REPLY_BYTES
    async for chunk in answer.content.iter_any():
        raw += chunk
        if len(raw) > at_most:
            raise management.too_long(at_most)
    return await _aside(len(raw), management.object_of, answer.status, raw, *needed)


async def _lines(answer: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    """Yield lines that are not empty. Ends after MAX_REPLY_BYTES, because lines for a slow client wait in memory."""
    line, came, since = bytearray(), 0, 0
    try:
        async for chunk in answer.content.iter_any():
            came += len(chunk)
            if came > management.MAX_REPLY_BYTES:
                return
            *ends, begins = chunk.split(b"\n")  # only the new bytes are searched: a gateway may send one at a time
            for end in ends:
                if line or end:
                    yield bytes(line + end)
                    line.clear()
                since += 1
                if since % LINES_AT_ONCE == 0:
                    await asyncio.sleep(0)
            line += begins
    except (aiohttp.ClientError, OSError):
        return


def _read(reader: EventReader, told: Callable[[bytes], dict[str, Any]], line: bytes) -> TurnEvent | None:
    said = told(line)
    return reader.read(said) if said else None


def _told(line: bytes) -> dict[str, Any]:
    """The JSON object of a line; empty for anything else."""
    try:
        said = orjson.loads(line)
    except ValueError:
        said = None
    return said if isinstance(said, dict) else {}


class _OlderLines:
    """The same objects from server-sent events."""

    def __init__(self) -> None:
        self._name = ""

    def told(self, line: bytes) -> dict[str, Any]:
        """The object that ends with this line; empty for other lines."""
        field_name, _, value = line.partition(b": ")
        if field_name == b"event":
            self._name = value.decode(errors="replace")
        if field_name != b"data":
            return {}
        said = _told(value)
        return {"type": self._name, "part": said} if self._name == "part" else {**said, "type": self._name}


async def _aside(size: int, read: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """What `read` returns. It runs in a thread if it has much to read."""
    if size < LARGE_BYTES:
        return read(*args, **kwargs)
    return await asyncio.to_thread(read, *args, **kwargs)
