"""The control plane's requests for the pod's log: pages, new lines, and the tail that it stores for later."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from agents.pod.gateway.answers import Refusal
from agents.pod.gateway.logs import PodLog
from agents.pod.logs.lines import LogSource
from agents.pod.logs.reading import PAGE_BYTES, LinesPage
from agents.pod.turns.events import NDJSON

MOST_LINES = 1000
MOST_WAIT_SECONDS = 30
MOST_TAIL_BYTES = 1024 * 1024
LIFE_HEADER, BASE_HEADER = "Log-Life", "Log-Base"
_DIGITS = 15


class LogPages:
    def __init__(self, pod_log: PodLog) -> None:
        self._log = pod_log

    def route(self, app: web.Application) -> None:
        app.router.add_get("/logs", self.page)
        app.router.add_get("/logs/tail", self.tail)

    async def page(self, request: web.Request) -> web.Response:
        """The lines after the offset `after`, or the newest lines. With `wait`, the answer comes when there are lines,
        or after so many seconds.
        `life` is the id of the log; a wrong one gives 409.
        """
        after, wait = _number(request, "after"), _number(request, "wait", most=MOST_WAIT_SECONDS)
        limit = _number(request, "limit", most=MOST_LINES) or MOST_LINES
        most_bytes = _number(request, "bytes", most=PAGE_BYTES) or PAGE_BYTES
        source = _source(request)
        if request.query.get("life") not in {None, self._log.life}:
            raise Refusal(409, "life: this log is another one")
        if after is not None and wait:
            await self._log.wait(after=after, seconds=wait)
        # In a thread: reading 5 MB takes a while if few lines have the wanted source.
        found = await asyncio.to_thread(self._log.page, after=after, limit=limit, source=source, most_bytes=most_bytes)
        return web.json_response(_body(found))

    async def tail(self, request: web.Request) -> web.Response:
        """The last lines in the form in which they are stored; 204 if no line was added since the offset `end` of this
        `life`.
        """
        size = _number(request, "bytes", most=MOST_TAIL_BYTES) or MOST_TAIL_BYTES
        if request.query.get("life") == self._log.life and _number(request, "end") == self._log.end:
            return web.Response(status=204)
        base, raw = await asyncio.to_thread(self._log.tail, size)
        headers = {LIFE_HEADER: self._log.life, BASE_HEADER: str(base)}
        return web.Response(body=raw, content_type=NDJSON, headers=headers)


def _body(page: LinesPage) -> dict[str, Any]:
    lines = [
        {"end": end, "at": line.at, "source": line.source, "level": line.level, "text": line.text}
        for end, line in page.lines
    ]
    return {"life": page.life, "lines": lines, "next": page.next, "end": page.end, "gap": page.gap}


def _number(request: web.Request, name: str, *, most: int = 10**_DIGITS - 1) -> int | None:
    text = request.query.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise Refusal(400, f"{name}: must be a whole number")
    return min(int(text), most)


def _source(request: web.Request) -> LogSource | None:
    text = request.query.get("source")
    try:
        return LogSource(text) if text else None
    except ValueError as error:
        raise Refusal(400, "source: must be bridge, engine or gateway") from error
