"""Fetches the document that describes a program (OAuth Client ID Metadata Document). Anybody may name its address.

Only public addresses are dialled, a name is resolved once, no redirect is followed, and time, size and the number of
fetches at once are bounded, also for each person: hosts that never answer do not make other people wait.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import aiohttp
from django.conf import settings

from accounts.oauth import addresses
from config import waiting
from config.errors import BadRequest
from config.outbound import AddressRefusedError, JudgingResolver, OneCall, Reach, ask_system

SECONDS = 5.0
LARGEST_BYTES = 16_384
OVERHEAD_BYTES = 65_536  # certificates and the head of the answer
AT_ONCE, AT_ONCE_EACH = 16, 2  # in this process, and for one person or household
TURNS_TO_CLOSE = 3  # of the loop, until a connection that was cut is closed
LONGEST_ADDRESS = 500

_names = ThreadPoolExecutor(4, thread_name_prefix="client-names")
_waiting = waiting.WaitLimit(AT_ONCE, each=lambda: AT_ONCE_EACH)


class BadDocument(BadRequest):
    """The document cannot be had, or says what we do not take. The message is for the person's page and the program."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"client_id: {problem}")


class HostAway(BadDocument):
    """The host cannot be reached, or says that it fails itself. That says nothing of the program."""


def is_address(client_id: str) -> bool:
    """Whether this client id is the address of a document."""
    parts = addresses.parts_of(client_id)
    if parts is None:
        return False
    return parts.scheme == "https" and len(parts.path) > 1 and not {".", ".."} & set(parts.path.split("/"))


def fetched(client_id: str, *, by: str) -> Mapping[str, Any]:
    """The document at this address, whose `client_id` is the address. Raises BadDocument, Unavailable."""
    if len(client_id) > LONGEST_ADDRESS or not is_address(client_id):
        raise BadDocument(f"must be the https address of a document, at most {LONGEST_ADDRESS} characters long")
    try:
        with _waiting.take(by):
            found = asyncio.run(_fetch(client_id))
    except (aiohttp.ClientConnectionError, OSError, TimeoutError) as error:
        raise HostAway(f"the document cannot be read ({type(error).__name__})") from error
    except (aiohttp.ClientError, AddressRefusedError, ValueError, RecursionError) as error:
        raise BadDocument(f"the document cannot be read ({type(error).__name__})") from error
    if found.get("client_id") != client_id:
        raise BadDocument("the document names another client_id")
    return found


async def _fetch(address: str) -> dict[str, Any]:
    reach = Reach(allowed=tuple(settings.WEBHOOK_ALLOWED_CIDRS), own=tuple(settings.OWN_NETWORKS))
    connector = OneCall(
        resolver=JudgingResolver(_names, ask_system, reach),
        socket_factory=reach.sockets(max_bytes=LARGEST_BYTES + OVERHEAD_BYTES),
        force_close=True,
        ssl=ssl.create_default_context(),
    )
    session = aiohttp.ClientSession(connector=connector, connector_owner=False, trust_env=False, auto_decompress=False)
    try:
        async with (
            asyncio.timeout(SECONDS),
            session,
            session.get(address, allow_redirects=False, headers={"Accept": "application/json"}) as answer,
        ):
            return _document(answer.status, await _body(answer))
    finally:
        await connector.close(abort_ssl=True)
        for _ in range(TURNS_TO_CLOSE):
            await asyncio.sleep(0)


async def _body(answer: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for piece in answer.content.iter_any():
        body += piece
        if len(body) > LARGEST_BYTES:
            raise BadDocument(f"the document is larger than {LARGEST_BYTES} bytes")
    return bytes(body)


def _document(status: int, body: bytes) -> dict[str, Any]:
    if status >= 500 or status == 429:
        raise HostAway(f"the document is answered with HTTP {status}")
    if status != 200:
        raise BadDocument(f"the document is answered with HTTP {status}")
    found = json.loads(body)
    if not isinstance(found, dict):
        raise BadDocument("the document is no JSON object")
    return found
