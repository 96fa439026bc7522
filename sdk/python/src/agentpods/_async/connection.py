"""Sends calls, waits between attempts, and makes errors of refusals."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from agentpods._wire import limits
from agentpods._wire.call import ApiCall, ApiReply
from agentpods._wire.files import new_file
from agentpods._wire.retries import Retries
from agentpods._wire.settings import ClientSettings
from agentpods._wire.sse import ServerEvent, StreamReader
from agentpods.errors import ApiError, NoAnswerError, NotFoundError, TooSlowError, UnexpectedAnswerError, refusal

EVENTS = "text/event-stream"


class AsyncConnection:
    """One service and one credential."""

    def __init__(self, settings: ClientSettings, http: httpx.AsyncClient | None) -> None:
        self._settings = settings
        self._http = http or httpx.AsyncClient(follow_redirects=False)
        self._is_own = http is None

    async def close(self) -> None:
        if self._is_own:
            await self._http.aclose()

    async def reply(self, call: ApiCall) -> ApiReply:
        """The answer of a call, after as many attempts as it needs. Raises AgentpodsError."""
        retries = Retries(call, at_most=self._settings.max_retries)
        while True:
            try:
                return await self._attempt(call)
            except (ApiError, NoAnswerError) as failure:
                if call.method == "DELETE" and isinstance(failure, NotFoundError) and retries.may_be_done:
                    return ApiReply(204, {}, b"")  # an earlier attempt did it
                pause = retries.after(failure)
                if pause is None:
                    raise
            await asyncio.sleep(pause)

    async def rows(self, call: ApiCall, field: str) -> AsyncGenerator[Any, None]:
        """The rows of each page of a list. `field` has them."""
        seen: set[str] = set()
        query = dict(call.query)
        while True:
            reply = await self.reply(ApiCall(call.method, call.path, query, call.headers))
            page = reply.body().get(field)
            if not isinstance(page, list):
                raise UnexpectedAnswerError(f"the page has no `{field}`")
            for row in page:
                yield row
            cursor = reply.next_cursor
            if cursor is None:
                return
            if cursor in seen:
                raise UnexpectedAnswerError("the list leads back to a page that was read already")
            seen.add(cursor)
            query["cursor"] = cursor

    async def events(self, call: ApiCall) -> AsyncGenerator[ServerEvent, None]:
        """The events of a stream, until the service ends it. A broken connection raises NoAnswerError.

        Nothing is sent twice here: who follows a stream knows where to go on.
        """
        reader = StreamReader()
        async with self._answer(call, accept=EVENTS) as answer:
            if not answer.headers.get("content-type", "").startswith(EVENTS):
                raise UnexpectedAnswerError("the answer is no stream of events: is the address right?")
            async for piece in answer.aiter_bytes():
                for event in reader.feed(piece):
                    yield event

    async def download(self, call: ApiCall, path: Path) -> int:
        """Write the answer to a new file that only its owner reads. Returns its size in bytes.

        The file appears under its name when it is complete. Raises FileExistsError.
        """
        size = 0
        with new_file(path) as file:
            async with self._answer(call, accept="*/*") as answer:
                async for piece in answer.aiter_bytes():
                    size += file.write(piece)
        return size

    async def _attempt(self, call: ApiCall) -> ApiReply:
        async with self._answer(call, accept="*/*") as answer:
            return await self._whole(answer, within=self._settings.timeout)

    @asynccontextmanager
    async def _answer(self, call: ApiCall, *, accept: str) -> AsyncGenerator[httpx.Response, None]:
        """The begun answer of a success. Raises ApiError for a refusal, NoAnswerError where there is none."""
        headers = {"Accept": accept, **limits.ABOUT_US, **self._settings.headers, **call.given_headers}
        try:
            async with self._http.stream(
                call.method,
                self._settings.base_url + call.path,
                params=call.url_query or None,
                json=call.body,
                headers=headers,
                timeout=limits.timeout(self._settings.timeout, call),
            ) as answer:
                if not answer.is_success:
                    raise await self._refusal(answer)
                yield answer
        except httpx.TimeoutException as error:
            raise TooSlowError(f"{call.method} {call.path}: no answer in time") from error
        except httpx.HTTPError as error:
            raise NoAnswerError(f"{call.method} {call.path}: {type(error).__name__}") from error

    async def _refusal(self, answer: httpx.Response) -> ApiError:
        reply = await self._whole(answer, within=self._settings.timeout)
        return refusal(reply.status, reply.json(), reply.headers, secret=self._settings.api_key)

    async def _whole(self, answer: httpx.Response, *, within: float) -> ApiReply:
        """The whole answer, with a limit to its size and to its time, for a service that never stops."""
        content, deadline = bytearray(), time.monotonic() + within
        async for piece in answer.aiter_bytes():
            content += piece
            if len(content) > limits.MAX_ANSWER_BYTES:
                raise UnexpectedAnswerError(f"the answer has more than {limits.MAX_ANSWER_BYTES} bytes")
            if time.monotonic() > deadline:
                raise TooSlowError("the answer does not end")
        return ApiReply(answer.status_code, dict(answer.headers), bytes(content))
