"""What DNS says of a hostname right now: its addresses, and the proof in its TXT record. Nothing is remembered.

Call this outside of transactions. Name servers that are slow, lie or send much cost at most a thread for two seconds:
each look has a time limit, and a look that finds no free thread counts as unanswered.
"""

from __future__ import annotations

import ipaddress
import logging
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotInTime
from dataclasses import dataclass
from typing import TypeVar

from django.conf import settings
from dns.exception import DNSException
from dns.name import LabelTooLong, NameTooLong
from dns.nameserver import Do53Nameserver
from dns.rdatatype import RdataType
from dns.resolver import NXDOMAIN, Answer, Resolver

from agents.domains.names import PROOF_PREFIX
from config.public_networks import Address, address_of

log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
WAIT_SECONDS = 3.0  # for a free thread and the answer
THREADS = 96  # three for each look that may wait in one process (config/waiting.py)
MAX_SHOWN = 20  # addresses or texts that are read of one answer

T = TypeVar("T")

_threads = ThreadPoolExecutor(THREADS, thread_name_prefix="domains")


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsAnswers:
    """`addresses` and `texts` are None when DNS did not answer, and empty when DNS said that there are none."""

    addresses: tuple[Address, ...] | None
    texts: frozenset[str] | None

    @property
    def points_here(self) -> bool | None:
        """Whether one of the addresses is EXPECTED_IP; None when that is unknown."""
        return None if self.addresses is None else expected_ip() in self.addresses

    def proves(self, value: str) -> bool:
        return self.texts is not None and value in self.texts


def expected_ip() -> Address | None:
    return address_of(settings.EXPECTED_IP)


def look(domain: str) -> DnsAnswers:
    """Ask for IPv4 and IPv6 addresses and for the proof, all at the same time."""
    proof = _threads.submit(_texts, f"{PROOF_PREFIX}{domain}")
    addresses = addresses_of(domain)
    texts = _answer(proof)
    return DnsAnswers(addresses=addresses, texts=None if texts is None else frozenset(texts))


def addresses_of(domain: str) -> tuple[Address, ...] | None:
    """The addresses of both kinds. None when DNS does not answer for the kind of EXPECTED_IP. The other kind is only
    for showing."""
    kinds = {version: _threads.submit(_addresses, domain, version) for version in (4, 6)}
    found = {version: _answer(asked) for version, asked in kinds.items()}
    expected = expected_ip()
    if found[expected.version if expected else 4] is None:
        return None
    return (*(found[4] or []), *(found[6] or []))


def look_address(domain: str) -> bool:
    """Whether DNS says that the name leads here right now. False when DNS does not answer."""
    return DnsAnswers(addresses=addresses_of(domain), texts=None).points_here is True


def _answer(asked: Future[list[T]]) -> list[T] | None:
    try:
        return asked.result(WAIT_SECONDS)
    except (DNSException, OSError, NotInTime) as error:
        asked.cancel()
        log.info("DNS did not answer for a domain: %s", type(error).__name__)
        return None


def _addresses(domain: str, version: int) -> list[Address]:
    answer = _resolve(domain, RdataType.A if version == 4 else RdataType.AAAA)
    return [ipaddress.ip_address(record.address) for record in list(answer or [])[:MAX_SHOWN]]


def _texts(name: str) -> list[str]:
    """The texts of the TXT records. Each record's strings are joined, because a long value is split into several."""
    answer = _resolve(name, RdataType.TXT)
    return [b"".join(record.strings).decode("ascii", "replace").strip() for record in list(answer or [])[:MAX_SHOWN]]


def _resolve(name: str, kind: RdataType) -> Answer | None:
    """The answer of DNS. None when the name does not exist or has no records of the kind. Raises DNSException when DNS
    does not answer."""
    try:
        return _resolver().resolve(name, kind, search=False, raise_on_no_answer=False, lifetime=LOOK_SECONDS)
    except (NXDOMAIN, LabelTooLong, NameTooLong):
        return None


def _resolver() -> Resolver:
    if not settings.DOMAIN_NAMESERVERS:
        return Resolver()
    resolver = Resolver(configure=False)
    resolver.nameservers = [Do53Nameserver(address, port) for address, port in settings.DOMAIN_NAMESERVERS]
    return resolver
