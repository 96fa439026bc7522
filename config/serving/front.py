"""The server's side of each request: the event loop reads it completely, a thread runs Django for it.

- A body is read before a thread is used (`bodies`).
- `running` requests run at once, and callers take turns (`turns`). A request that waits for another service
  (config/waiting.py) makes room for the next one, so slow pods and receivers use only threads that are spare.
- The event loop itself answers `/health`: the service is up as long as the process is.
- Before its end, a front closes its connections with each answer and goes on answering for a while (`drain`).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar
from wsgiref.types import WSGIApplication

from granian._granian import RSGIHTTPProtocol as HTTPProtocol
from granian._granian import RSGIProtocolClosed as ProtocolClosed
from granian.rsgi import Scope

from config import callers
from config.callers import Caller
from config.content_policy import OF_DATA
from config.errors import ErrorCode
from config.ids import new_id
from config.metrics.requests import REFUSED
from config.serving import unread, wsgi
from config.serving.acks import FILE_BYTES, FILE_LOOK_SECONDS, Arrivals
from config.serving.answer_files import AnswerFiles
from config.serving.bodies import Bodies, BodyRefused
from config.serving.following import Followed, Followers
from config.serving.turns import FairQueue, caller_of

log = logging.getLogger(__name__)

LIVENESS = "/health"
READINESS = "/health/ready"
FIELDS = "fields="  # an answer with chosen fields is Django's to make
MAX_QUEUED = 1024  # requests that wait for a thread
QUEUE_SECONDS = 10.0
WRITE_SECONDS = 30.0  # for one piece of a stream

Result = TypeVar("Result")


class Front:
    """An RSGI application around a WSGI application."""

    def __init__(
        self, application: WSGIApplication, *, running: int, waiting: int, alive: bytes, help_link: str
    ) -> None:
        """`running` and `waiting` are numbers of threads; `alive` is the JSON body of `/health`. `help_link` is the
        header `Link` of refusals.
        """
        self._application = application
        self._bodies = Bodies()
        self._shelf = AnswerFiles()
        self._alive = alive
        self._help_link = help_link
        self._threads = ThreadPoolExecutor(running + waiting, thread_name_prefix="web")
        self._turns = FairQueue(running=running, queued=MAX_QUEUED)
        self._farewell: wsgi.Headers = []  # headers that are added to each answer
        self._followers = Followers()

    def drain(self) -> None:
        """Send clients elsewhere with their next request: each answer closes its connection, and readiness says no."""
        self._farewell[:] = [("connection", "close")]
        self._followers.end()

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        unread.watch()

    async def __rsgi__(self, scope: Scope, proto: HTTPProtocol) -> None:
        if scope.path == LIVENESS and scope.method in {"GET", "HEAD"} and FIELDS not in scope.query_string:
            _respond(proto, HTTPStatus.OK, self._alive, self._farewell)
            return
        if scope.path == READINESS and self._farewell:
            self._refuse(proto, BodyRefused(HTTPStatus.SERVICE_UNAVAILABLE, "this process is stopping"))
            return
        try:
            async with self._bodies.read(scope, proto) as body:
                call = _Call(self._application, scope, proto, body, leave=self._turns.leave, farewell=self._farewell)
                await self._turns.enter(caller_of(scope), seconds=QUEUE_SECONDS)
                followed = await call.answer(self._threads, self._shelf)
            del call, body  # the request, which may be large
            if followed:
                await self._followers.serve(scope, proto, followed, headers=self._farewell)
        except BodyRefused as refusal:
            self._refuse(proto, refusal)

    def _refuse(self, proto: HTTPProtocol, refusal: BodyRefused) -> None:
        REFUSED.labels(refusal.status.value).inc()
        code = ErrorCode.INTERNAL if refusal.status >= HTTPStatus.INTERNAL_SERVER_ERROR else ErrorCode.BAD_REQUEST
        headers = [("connection", "close"), ("link", self._help_link)]
        if refusal.retry_after is not None:
            headers.append(("retry-after", str(refusal.retry_after)))
        _respond(proto, refusal.status, _error(refusal.message, code), headers)


@dataclass(frozen=True, slots=True)
class _WholeAnswer:
    status: int
    headers: wsgi.Headers
    body: bytes | Path


class _Call:
    """One request that a thread answers."""

    def __init__(
        self,
        application: WSGIApplication,
        scope: Scope,
        proto: HTTPProtocol,
        body: bytes,
        *,
        leave: Callable[[], None],
        farewell: wsgi.Headers,
    ) -> None:
        """`leave` makes room for the next request; it is called once, on the event loop.

        `farewell` are headers that are added to the answer. They may be added while the request runs.
        """
        self._application = application
        self._environ = wsgi.environ(scope, body)
        self._client = scope.client
        self._proto = proto
        self._leave: Callable[[], None] | None = leave
        self._farewell = farewell
        self._loop = asyncio.get_running_loop()
        self._caller = Caller(on_wait=self._on_wait)
        self._watch: asyncio.Task[None] | None = None
        self._ended = False

    async def answer(self, threads: ThreadPoolExecutor, files: AnswerFiles) -> Followed | None:
        """Answer the request. Return an endless answer, which goes on without a thread."""
        try:
            answered = await self._loop.run_in_executor(threads, self._run)
        except Exception:
            log.exception("a request was not answered")
            broken = _error("something went wrong on our side")
            _respond(self._proto, HTTPStatus.INTERNAL_SERVER_ERROR, broken, self._farewell)
        else:
            if isinstance(answered, Followed):
                return answered
            if answered:
                self._send(answered, files)
        finally:
            self._ended = True
            self._environ = {}
            self._make_room()
            if self._watch:
                self._watch.cancel()
        return None

    def _send(self, answered: _WholeAnswer, files: AnswerFiles) -> None:
        file = answered.body if isinstance(answered.body, Path) else files.file_of(answered.body)
        headers = [*answered.headers, *self._farewell]
        if file is not None:
            self._proto.response_file(answered.status, headers, str(file))
        elif isinstance(answered.body, bytes):
            self._proto.response_bytes(answered.status, headers, answered.body)

    def _run(self) -> _WholeAnswer | Followed | None:
        """In a thread: return the answer, or None if it was streamed."""
        token = callers.caller.set(self._caller)
        try:
            answer = wsgi.call(self._application, self._environ)
            try:
                if followed := answer.followed():
                    return followed
                if answer.streamed and self._environ["REQUEST_METHOD"] == "HEAD":
                    return _WholeAnswer(answer.status, answer.headers, b"")
                if not answer.streamed:
                    return _WholeAnswer(answer.status, answer.headers, answer.file() or answer.whole())
                self._stream(answer)
            finally:
                answer.close()
        finally:
            callers.caller.reset(token)
        return None

    def _stream(self, answer: wsgi.WsgiAnswer) -> None:
        transport = self._proto.response_stream(answer.status, [*answer.headers, *self._farewell])
        arrivals = self._on_loop(Arrivals.of(self._client, window=FILE_BYTES, look=FILE_LOOK_SECONDS))
        if arrivals is None:
            return
        try:
            with contextlib.closing(arrivals):
                for piece in answer.pieces:
                    self._on_loop(_sent(arrivals, transport.send_bytes, piece))
        except (ProtocolClosed, TimeoutError, OSError):
            log.debug("the client left before its stream ended")

    def _on_loop(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(2 * WRITE_SECONDS)

    def _on_wait(self) -> None:
        """In a thread: from now on the request waits for another service."""
        self._loop.call_soon_threadsafe(self._step_aside)

    def _step_aside(self) -> None:
        self._make_room()
        if not self._ended:
            self._watch = self._loop.create_task(self._end_with_the_client())

    def _make_room(self) -> None:
        leave, self._leave = self._leave, None
        if leave:
            leave()

    async def _end_with_the_client(self) -> None:
        await self._proto.client_disconnect()
        if not self._ended:
            self._caller.leave()


async def _sent(arrivals: Arrivals, send: Callable[[bytes], Awaitable[None]], piece: bytes) -> None:
    """Send a piece when the client has room for it. The server itself would accept data without limit."""
    async with asyncio.timeout(WRITE_SECONDS):
        await arrivals.room_for(piece)
        await send(piece)


def _error(message: str, code: ErrorCode = ErrorCode.INTERNAL) -> bytes:
    return json.dumps({"error": code.value, "message": message}).encode()


def _respond(proto: HTTPProtocol, status: int, body: bytes, headers: wsgi.Headers | None = None) -> None:
    common = [
        ("content-type", "application/json"),
        ("request-id", new_id("req")),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", OF_DATA),
    ]
    with contextlib.suppress(ProtocolClosed):
        proto.response_bytes(status, [*common, *(headers or [])], body)
