"""The broker: it checks what the engine asks of the proxy, and lets it through as a tunnel, as a request of its own, or
not at all.
"""

from __future__ import annotations

import asyncio
import logging
from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from aiohttp import web

from agents.pod.gateway.answers import Refusal, refusal_of, same_secret
from agents.pod.gateway.egress import dialling, forwarding, tunnels
from agents.pod.gateway.egress.connect import ConnectHead, EngineSide
from agents.pod.gateway.egress.forwarding import BrokeredRequest, Forwarder
from agents.pod.gateway.egress.hosts import BadHostError, Target
from agents.pod.gateway.egress.rules import BrokeredSecret, EgressRules
from agents.pod.gateway.egress.tunnels import OtherNameError
from agents.pod.gateway.egress.visits import HostVisit, VisitBook
from agents.pod.gateway.pod import Pod
from config.outbound import AddressRefusedError, Reach

if TYPE_CHECKING:
    from agents.pod.gateway.egress.authority import Authority

# At the same time: tunnels, connections whose TLS ends here, and plain requests. A plain one takes up to 1 MB,
# one whose TLS ends here 3.2 MB, and a gateway has 256 MB.
MOST_OPEN, MOST_ENDED_HERE = 128, 32
HANDSHAKE_SECONDS = 15.0
KEEPALIVE_SECONDS = 60.0
LOOK_SECONDS = 1.0
GRACE_SECONDS = 0.5  # for a request that still runs
HEAD_BYTES = 16 * 1024
UNREADABLE = "?"  # in the log of hosts, for what is no name of a host

log = logging.getLogger(__name__)


class EgressBroker:
    def __init__(self, pod: Pod, day: Callable[[], str]) -> None:
        self._pod = pod
        self._authority: Authority | None = None
        self._told: dict[str, Any] = {}
        self._loaded = EgressRules()
        self._forwarder = Forwarder(self._reach, MOST_OPEN)
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended_here = 0
        self.book = VisitBook(day)
        self._plain = _server(self._forward_plain)

    @property
    def _rules(self) -> EgressRules:
        """The owner's rules now. They are read once for each configuration."""
        told = self._pod.secrets.egress
        if told is not self._told:
            self._told, self._loaded = told, EgressRules.load(told)
        return self._loaded

    def _reach(self) -> Reach:
        """The public internet, and the networks that the operator allows pods. Those of peers are for peers alone."""
        return Reach(allowed=self._rules.networks)

    @property
    def is_on(self) -> bool:
        """Whether the agent uses the broker."""
        return self._rules.is_on

    def plain_protocol(self) -> asyncio.Protocol:
        """Serves a connection whose requests name their host in an absolute `http://` address."""
        return self._plain()

    def connect(self, caller: EngineSide, head: bytes, rest: bytes) -> None:
        """Serve a connection that began with CONNECT."""
        task = asyncio.get_running_loop().create_task(self._connect(caller, head, rest))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._plain.shutdown(GRACE_SECONDS)
        await self._forwarder.close()

    async def _connect(self, caller: EngineSide, head: bytes, rest: bytes) -> None:
        try:
            asked = ConnectHead.read(head)
            self._check_token(asked.authorization)
            target, secrets = self._admit(asked.target)
            with self._place(target) as visit:
                await (self._brokered if secrets else self._tunnel)(caller, target, rest, visit)
        except Refusal as refusal:
            caller.refuse(refusal)
        except OSError:
            caller.abort()  # the engine has gone
        except Exception:
            log.exception("a connection of the engine broke off")
            caller.abort()

    def _check_token(self, authorization: str | None) -> None:
        """Raises Refusal. Clients send the user and password of their proxy's address."""
        scheme, _, given = (authorization or "").partition(" ")
        try:
            password = b64decode(given.strip(), validate=True).decode().partition(":")[2]
        except ValueError:
            password = ""
        if scheme.lower() != "basic" or not same_secret(password, self._pod.start.llm_token):
            words = "Proxy-Authorization: the pod's token is missing or wrong"
            raise Refusal(407, words, Proxy_Authenticate='Basic realm="egress"')

    def _admit(self, text: str, *, default_port: int | None = None) -> tuple[Target, tuple[BrokeredSecret, ...]]:
        """The host, and the secrets that it gets over TLS. Raises Refusal, and counts it."""
        rules = self._rules
        if not rules.is_on:
            raise Refusal(403, "this agent does not use the egress broker")
        try:
            target = Target.read(text, default_port=default_port)
        except BadHostError as error:
            self.book.refused(UNREADABLE)
            raise Refusal(400, f"host: {error}") from error
        if not rules.allow(target):
            self.book.refused(str(target))
            raise Refusal(403, f"{target}: this host is not on the agent's list (PUT /agents/{{id}}/egress changes it)")
        return target, rules.secrets_of(target)

    @contextmanager
    def _place(self, target: Target) -> Iterator[HostVisit]:
        """A place among those that are open. Raises Refusal if there is none."""
        if self.book.open_visits >= MOST_OPEN:
            raise Refusal(503, f"{MOST_OPEN} connections are open", Retry_After="1")
        with self.book.visit(str(target)) as visit:
            yield visit

    async def _tunnel(self, caller: EngineSide, target: Target, rest: bytes, visit: HostVisit) -> None:
        was_limited = self._rules.is_limited
        try:
            host = await dialling.dial(self._reach(), target)
        except (AddressRefusedError, OSError, TimeoutError) as error:
            raise forwarding.refusal_of(error, target) from error
        client, first = caller.accept(rest), b""
        try:
            if was_limited:
                first = await tunnels.checked_hello(client[0], target)
        except BaseException as error:
            host[1].transport.abort()
            caller.abort()
            if not isinstance(error, OtherNameError):
                raise
            self.book.refused(str(target))
            return

        def is_allowed() -> bool:
            """A tunnel of a time without a list was not checked, so it ends when there is one."""
            rules = self._rules
            return rules.is_on and rules.allow(target) and (was_limited or not rules.is_limited)

        await tunnels.run(client, host, visit, first=first, is_allowed=is_allowed)

    async def _brokered(self, caller: EngineSide, target: Target, rest: bytes, visit: HostVisit) -> None:
        """End TLS here, and make the requests that come inside."""
        if rest:
            raise Refusal(400, "TLS begins after the answer to CONNECT")
        if self._ended_here >= MOST_ENDED_HERE:
            raise Refusal(503, f"{MOST_ENDED_HERE} connections to hosts with a secret are open", Retry_After="1")
        self._ended_here += 1
        try:
            await self._serve_inside(caller, target, visit)
        finally:
            self._ended_here -= 1

    async def _serve_inside(self, caller: EngineSide, target: Target, visit: HostVisit) -> None:
        server = _server(partial(self._forward_brokered, target, visit))
        context = self._authorised().context(target.host, self._pod.start.run_dir)
        transport = await caller.start_tls(server(), context, seconds=HANDSHAKE_SECONDS)
        try:
            await _until_over(transport, visit)
        finally:
            await server.shutdown(GRACE_SECONDS)
            transport.abort()

    def _authorised(self) -> Authority:
        # Here, because few gateways need the library behind it, and each has little memory.
        from agents.pod.gateway.egress.authority import Authority  # noqa: PLC0415

        ticket_key = self._pod.secrets.ticket_key
        if self._authority is None or self._authority.ticket_key != ticket_key:
            self._authority = Authority(ticket_key)
        return self._authority

    async def _forward_brokered(self, target: Target, visit: HostVisit, request: web.BaseRequest) -> web.StreamResponse:
        """The rules are asked again for each request: a connection may outlive a secret."""
        visit.went()
        path = request.raw_path
        if not path.startswith("/"):
            raise Refusal(400, "path: must begin with /")
        _, secrets = self._admit(str(target))
        order = BrokeredRequest(target=target, is_tls=True, path=path, secrets=secrets, visit=visit)
        try:
            return await self._forwarder.forward(request, order)
        finally:
            visit.went()

    async def _forward_plain(self, request: web.BaseRequest) -> web.StreamResponse:
        self._check_token(request.headers.get("Proxy-Authorization"))
        authority, path = _absolute(request.raw_path)
        target, _ = self._admit(authority, default_port=80)
        with self._place(target) as visit:
            order = BrokeredRequest(target=target, is_tls=False, path=path, secrets=(), visit=visit)
            return await self._forwarder.forward(request, order)


async def _until_over(transport: asyncio.Transport, visit: HostVisit) -> None:
    """Until the connection has ended, or nothing came over it for IDLE_SECONDS."""
    loop = asyncio.get_running_loop()
    visit.went()
    while True:
        if transport.is_closing() or loop.time() - visit.last > tunnels.IDLE_SECONDS:
            return
        await asyncio.sleep(LOOK_SECONDS)


def _absolute(text: str) -> tuple[str, str]:
    """Host and path of an absolute address, not interpreted. Raises Refusal."""
    scheme, separator, rest = text.partition("://")
    if scheme.lower() != "http" or not separator:
        raise Refusal(400, "the proxy takes http:// addresses, and CONNECT for everything else")
    ends = [at for mark in "/?" if (at := rest.find(mark)) >= 0]
    authority = rest[: min(ends, default=len(rest))]
    path = rest[len(authority) :]
    if "#" in text or not (text.isascii() and text.isprintable() and " " not in text):
        raise Refusal(400, "the address has characters that no address has")
    return authority, path if path.startswith("/") else f"/{path}"


def _server(forward: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> web.Server:
    async def answered(request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await forward(request)
        except Exception as error:
            if request.writer.output_size > 0:
                raise
            refusal = refusal_of(error)
            return web.Response(status=refusal.status, text=f"egress: {refusal.message}\n", headers=refusal.headers)

    return web.Server(
        answered,
        access_log=None,
        auto_decompress=False,
        handler_cancellation=True,
        keepalive_timeout=KEEPALIVE_SECONDS,
        max_line_size=HEAD_BYTES,
        max_field_size=HEAD_BYTES,
    )
