"""A DNS server on loopback whose answers change as a test tells it. It speaks the protocol itself, over UDP."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from socketserver import BaseRequestHandler, UDPServer
from typing import Any

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

A_DAY = 86_400  # how long an answer may be remembered: a resolver that did so would show it


class Cname(str):
    """In an answer: the name is another name for this one. What that one leads to may follow."""

    __slots__ = ()


SILENCE = ["silence"]


class NameServer:
    """`answers(name, [...], [...])`: what each look-up of it finds, in order; the last stands for all further ones."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, str]] = Counter()  # by name and type of record
        self._answers: dict[str, tuple[list[str], ...]] = {}
        self._server = UDPServer(("127.0.0.1", 0), _Question)
        self._server.name_server = self  # type: ignore[attr-defined]  # how a request finds its server
        self.address: tuple[str, int] = self._server.server_address  # type: ignore[assignment]  # IPv4

    def answers(self, name: str, *answers: list[str]) -> None:
        """Forget what was told and asked before. A name of which nothing was told does not exist."""
        self._answers[name] = answers
        for kind in ("A", "AAAA"):
            self.asked[name, kind] = 0

    @contextmanager
    def listening(self) -> Iterator[NameServer]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def answer(self, packet: bytes) -> bytes | None:
        query = dns.message.from_wire(packet)
        (question,) = query.question
        name, kind = question.name.to_text(omit_final_dot=True).lower(), dns.rdatatype.to_text(question.rdtype)
        found = self._next(name, kind)
        if found is SILENCE:
            return None
        response = dns.message.make_response(query, recursion_available=True)
        if found is None:
            response.set_rcode(dns.rcode.NXDOMAIN)
        response.answer += list(_records(name, kind, found or []))
        return response.to_wire()

    def _next(self, name: str, kind: str) -> list[str] | None:
        told = self._answers.get(name)
        self.asked[name, kind] += 1
        return told[min(self.asked[name, kind], len(told)) - 1] if told else None


class _Question(BaseRequestHandler):
    def handle(self) -> None:
        packet, reply_from = self.request
        server: Any = self.server
        if response := server.name_server.answer(packet):
            reply_from.sendto(response, self.client_address)


def _records(name: str, kind: str, found: list[str]) -> Iterator[dns.rrset.RRset]:
    """As a recursive server gives them: aliases, and then the addresses of the kind that was asked for."""
    owner = name
    for text in found:
        if isinstance(text, Cname):
            yield dns.rrset.from_text(f"{owner}.", A_DAY, "IN", "CNAME", f"{text}.")
            owner = text
    addresses = [text for text in found if not isinstance(text, Cname) and _kind(text) == kind]
    if addresses:
        yield dns.rrset.from_text(f"{owner}.", A_DAY, "IN", kind, *addresses)


def _kind(address: str) -> str:
    return "A" if ip_address(address).version == 4 else "AAAA"
