"""The control plane's client for a pod's log: pages from its gateway, with or without waiting, and the tail that is
stored.
"""

from __future__ import annotations

import asyncio
import functools
import operator
import ssl
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson

from agents.pod.logs.lines import Level, LogLine, LogSource, clean, shortened
from agents.pod.logs.reading import PAGE_BYTES, LinesPage
from agents.pod.turns.failures import Hop, HopFailure
from agents.runtimes import certificates
from agents.runtimes.base import Access, Endpoint
from agents.runtimes.management import body_of, call

PAGE_SECONDS = 5.0
TAIL_SECONDS = 5.0
CONNECT_SECONDS = 5.0
MAX_PAGE_BYTES = 2 * 1024 * 1024
MAX_LIFE = 24
MAX_OFFSET = 10**15 - 1


class OtherLife(HopFailure):
    """The log now has another life: the pod that was asked for has been replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """The last lines of one life of a pod's log, in their stored form, and the offset of the first."""

    life: str
    base: int
    raw: bytes = field(repr=False)

    @property
    def end(self) -> int:
        return self.base + len(self.raw)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogQuery:
    """Which lines are wanted: after an offset of this life, or the newest of any life; at most `limit` lines, of one
    source.
    """

    after: int | None
    limit: int
    source: LogSource | None = None
    life: str | None = None
    most_bytes: int = PAGE_BYTES

    @property
    def query(self) -> str:
        given = {
            "after": self.after, "limit": self.limit, "source": self.source, "life": self.life,
            "bytes": self.most_bytes,
        }  # fmt: skip
        return "&".join(f"{name}={value}" for name, value in given.items() if value is not None)


def page(endpoint: Endpoint, access: Access, asked: LogQuery, *, seconds: float = PAGE_SECONDS) -> LinesPage:
    """Lines of this pod's log. Raises OtherLife if the log has another life, HopFailure if the pod does not answer."""
    with call("GET", endpoint, access, f"/logs?{asked.query}", seconds=seconds) as answer:
        if answer.status_code == 409:
            raise OtherLife(Hop.GATEWAY, "the pod is another one by now")
        return _page(body_of(answer, "life", "lines", "next", "end", "gap"))


def tail(endpoint: Endpoint, access: Access, *, size: int, life: str, end: int) -> Tail | None:
    """The last lines of this pod's log; None if no line was added since `end` of this life. Raises HopFailure."""
    path = f"/logs/tail?bytes={size}&life={life}&end={end}"
    with call("GET", endpoint, access, path, seconds=TAIL_SECONDS) as answer:
        if answer.status_code == 204:
            return None
        found, base = answer.headers.get("Log-Life", ""), answer.headers.get("Log-Base", "")
        if answer.status_code != 200 or not _is_life(found) or not _is_offset(base):
            raise HopFailure(Hop.GATEWAY, f"the pod's gateway answered {answer.status_code} without its log")
        raw = bytearray()
        for piece in answer.iter_content(chunk_size=65536):
            raw += piece
            if len(raw) > size:
                raise HopFailure(Hop.GATEWAY, f"the pod's gateway answered more than {size} bytes")
        return Tail(life=found, base=int(base), raw=bytes(raw))


async def news(
    session: aiohttp.ClientSession, endpoint: Endpoint, access: Access, asked: LogQuery, *, wait: int
) -> LinesPage:
    """The lines after an offset. Waits for them at most `wait` seconds. Raises OtherLife and HopFailure."""
    if not access.certificate:
        raise HopFailure(Hop.GATEWAY, "the pod's gateway is being started: it has no certificate yet")
    url = f"{endpoint.management_url}/logs?{asked.query}&wait={wait}"
    try:
        async with session.get(
            url,
            headers={"Authorization": f"Bearer {access.token}"},
            ssl=_context(access.certificate),
            server_hostname=certificates.NAME,
            timeout=aiohttp.ClientTimeout(total=wait + PAGE_SECONDS, sock_connect=CONNECT_SECONDS),
            allow_redirects=False,
        ) as answer:
            if answer.status == 409:
                raise OtherLife(Hop.GATEWAY, "the pod is another one by now")
            raw = await _at_most(MAX_PAGE_BYTES, answer)
            if answer.status != 200:
                raise HopFailure(Hop.GATEWAY, f"the pod's gateway answered {answer.status}")
            return _page(orjson.loads(raw))
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise HopFailure(Hop.GATEWAY, f"the pod's gateway is not reached ({type(error).__name__})") from error


def client() -> aiohttp.ClientSession:
    """A client for `news`: any number of connections, each with its gateway's own certificate."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar(), trust_env=False
    )


@functools.lru_cache(maxsize=1024)
def _context(certificate: str) -> ssl.SSLContext:
    return certificates.context(certificate)


async def _at_most(limit: int, answer: aiohttp.ClientResponse) -> bytes:
    raw = bytearray()
    async for piece in answer.content.iter_any():
        raw += piece
        if len(raw) > limit:
            raise HopFailure(Hop.GATEWAY, f"the pod's gateway answered more than {limit} bytes")
        await asyncio.sleep(0)
    return bytes(raw)


def _page(body: Any) -> LinesPage:
    """Read the gateway's answer. Raises HopFailure for a malformed page."""
    try:
        if not _is_life(body["life"]):
            raise ValueError(body["life"])  # noqa: TRY301 # all errors are handled in one place
        return LinesPage(
            life=body["life"],
            lines=[(_offset(one["end"]), _line(one)) for one in body["lines"]],
            next=_offset(body["next"]),
            end=_offset(body["end"]),
            gap=body["gap"] is True,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise HopFailure(Hop.GATEWAY, "the pod's gateway told of its log in words that nobody knows") from error


def _line(told: dict[str, Any]) -> LogLine:
    level = told["level"]
    return LogLine(
        at=min(max(float(told["at"]), 0.0), 253402300799.0),
        source=LogSource(told["source"]),
        level=None if level is None else Level(level),
        text=shortened(clean(str(told["text"]))),
    )


def _offset(value: object) -> int:
    number = operator.index(value)  # type: ignore[arg-type]  # raises TypeError if it is no number
    if not 0 <= number <= MAX_OFFSET:
        raise ValueError(number)
    return number


def _is_life(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isalnum() and 8 <= len(value) <= MAX_LIFE


def _is_offset(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 15
