"""A DNS server on loopback whose answers a test sets. It implements the protocol over UDP and TCP."""

from __future__ import annotations

import struct
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from socketserver import BaseRequestHandler, TCPServer, ThreadingTCPServer, UDPServer
from typing import Any

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

A_DAY = 86_400  # the lifetime of answers in seconds: it makes a resolver that caches visible


class Cname(str):
    """Part of an answer: the name is an alias of this one. The records of the other name may follow."""

    __slots__ = ()


class TxtRecord(str):
    """Part of an answer: a TXT record. `Text("a|b")` has two strings."""

    __slots__ = ()


SILENCE = ["silence"]
FAILURE = ["failure"]  # SERVFAIL
GARBAGE = ["garbage"]  # not a DNS message
FORGERY = ["forgery"]  # an answer to another question, which says that all is well
UDP_BYTES = 1232
KINDS = ("A", "AAAA", "TXT")


class NameServer:
    """`answers(name, [...], [...])` sets the results of successive look-ups; the last one is for all later ones."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, str]] = Counter()  # by name and type of record
        self._answers: dict[str, tuple[list[str], ...]] = {}
        self._tcp, self._server = _on_one_port()
        for server in (self._tcp, self._server):
            server.name_server = self  # type: ignore[attr-defined]  # how a request finds its server
        self.address: tuple[str, int] = self._server.server_address  # type: ignore[assignment]  # IPv4
        self.forged = ""  # the address in the answer FORGERY

    def answers(self, name: str, *answers: list[str]) -> None:
        """Replace all answers for this name, and forget its look-ups. A name without answers does not exist."""
        self._answers[name] = answers
        for kind in KINDS:
            self.asked[name, kind] = 0

    @contextmanager
    def listening(self) -> Iterator[NameServer]:
        servers = (self._server, self._tcp)
        quick = {"poll_interval": 0.02}
        threads = [threading.Thread(target=each.serve_forever, kwargs=quick, daemon=True) for each in servers]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            for server, thread in zip(servers, threads, strict=True):
                server.shutdown()
                server.server_close()
                thread.join()

    def answer(self, packet: bytes, *, at_most: int = 65_535) -> bytes | None:
        query = dns.message.from_wire(packet)
        (question,) = query.question
        name, kind = question.name.to_text(omit_final_dot=True).lower(), dns.rdatatype.to_text(question.rdtype)
        found = self._next(name, kind)
        if found is SILENCE:
            return None
        if found is GARBAGE:
            return b"\x00" * 7
        if found is FORGERY:
            other = dns.message.make_query("other.example.", "A")
            response = dns.message.make_response(other, recursion_available=True)
            response.answer.append(dns.rrset.from_text(f"{name}.", A_DAY, "IN", "A", self.forged))
            return response.to_wire()
        response = dns.message.make_response(query, recursion_available=True)
        if found is None:
            response.set_rcode(dns.rcode.NXDOMAIN)
        if found is FAILURE:
            response.set_rcode(dns.rcode.SERVFAIL)
        else:
            response.answer += list(_records(name, kind, found or []))
        try:
            return response.to_wire(max_size=at_most)
        except dns.exception.TooBig:
            cut = dns.message.make_response(query, recursion_available=True)
            cut.flags |= dns.flags.TC
            return cut.to_wire()

    def _next(self, name: str, kind: str) -> list[str] | None:
        told = self._answers.get(name)
        self.asked[name, kind] += 1
        return told[min(self.asked[name, kind], len(told)) - 1] if told else None


def _on_one_port() -> tuple[TCPServer, UDPServer]:
    """Find a port that is free for both TCP and UDP."""
    while True:
        tcp = ThreadingTCPServer(("127.0.0.1", 0), _Connection)
        tcp.daemon_threads = True
        try:
            return tcp, UDPServer(tcp.server_address, _Question)
        except OSError:
            tcp.server_close()


class _Question(BaseRequestHandler):
    def handle(self) -> None:
        packet, reply_from = self.request
        server: Any = self.server
        if response := server.name_server.answer(packet, at_most=UDP_BYTES):
            reply_from.sendto(response, self.client_address)


class _Connection(BaseRequestHandler):
    def handle(self) -> None:
        server: TCPServer = self.server  # type: ignore[assignment]  # as it was made
        length = self.request.recv(2)
        if len(length) < 2:
            return
        packet = self.request.recv(struct.unpack("!H", length)[0])
        if response := server.name_server.answer(packet):  # type: ignore[attr-defined]
            self.request.sendall(struct.pack("!H", len(response)) + response)


def _records(name: str, kind: str, found: list[str]) -> Iterator[dns.rrset.RRset]:
    """The records in a recursive server's order: aliases, and then the addresses of the requested type."""
    owner = name
    for text in found:
        if isinstance(text, Cname):
            yield dns.rrset.from_text(f"{owner}.", A_DAY, "IN", "CNAME", f"{text}.")
            owner = text
    values = [_quoted(text) for text in found if not isinstance(text, Cname) and _kind(text) == kind]
    if values:
        yield dns.rrset.from_text(f"{owner}.", A_DAY, "IN", kind, *values)


def _quoted(text: str) -> str:
    return " ".join(f'"{part}"' for part in text.split("|")) if isinstance(text, TxtRecord) else text


def _kind(address: str) -> str:
    if isinstance(address, TxtRecord):
        return "TXT"
    return "A" if ip_address(address).version == 4 else "AAAA"
