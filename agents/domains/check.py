"""What a caller is told of a hostname (spec: DomainCheck), and the records that its owner sets."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import urllib3
from django.conf import settings

from agents.domains import claims, names, records
from agents.domains.records import Seen, expected_ip
from config import public_networks, waiting
from config.public_networks import Address

PROBE_SECONDS = 5.0


class DnsStatus(StrEnum):
    OK = "ok"
    UNRESOLVED = "unresolved"
    ELSEWHERE = "elsewhere"


class HttpsStatus(StrEnum):
    OK = "ok"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dns:
    status: DnsStatus
    addresses: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Https:
    status: HttpsStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainCheck:
    domain: str
    expected_ip: str
    dns: Dns
    https: Https


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record that the owner of the name sets."""

    type: str
    name: str
    value: str


def look(user_id: str, domain: str) -> Seen:
    """What DNS says now, in a place for calls that wait. Ask outside of transactions."""
    with waiting.names.take(user_id):
        return records.look(domain)


def of(user_id: str, domain: str, *, https: bool) -> DomainCheck:
    """Whether the name leads here and, if that is asked for too, whether it is served here over HTTPS.

    Only EXPECTED_IP is ever dialled: no address that DNS names. Raises BadRequest.
    """
    host = names.normalised(domain)
    with waiting.names.take(user_id):
        seen = Seen(addresses=records.addresses_of(host), texts=None)
        return told(host, seen, probe=probe if https else None)


def told(domain: str, seen: Seen, *, probe: Callable[[str], HttpsStatus] | None = None) -> DomainCheck:
    """The same of what DNS has said already; without a probe HTTPS is skipped."""
    status = _status(seen)
    asked = probe if status == DnsStatus.OK else None
    return DomainCheck(
        domain=domain,
        expected_ip=settings.EXPECTED_IP,
        dns=Dns(status=status, addresses=[str(address) for address in seen.addresses or () if _may_be_shown(address)]),
        https=Https(status=asked(domain) if asked else HttpsStatus.SKIPPED),
    )


def to_set(domain: str, user_id: str) -> list[Record]:
    """TXT may come first: then the name serves from the moment on that its address leads here."""
    address = expected_ip()
    kind = "AAAA" if address is not None and address.version == 6 else "A"
    return [
        Record(type="TXT", name=f"{names.PROOF_PREFIX}{domain}", value=claims.value_of(user_id)),
        Record(type=kind, name=domain, value=settings.EXPECTED_IP),
    ]


def probe(domain: str) -> HttpsStatus:
    """Whether EXPECTED_IP shows a trusted certificate of this name and answers for it."""
    try:
        pool = urllib3.HTTPSConnectionPool(
            settings.EXPECTED_IP,
            settings.HTTPS_PORT,
            server_hostname=domain,
            assert_hostname=domain,
            ssl_context=_trusting(),
            timeout=urllib3.Timeout(total=PROBE_SECONDS),
            retries=False,
        )
        with pool:
            answer = pool.urlopen("HEAD", "/", headers={"Host": domain}, redirect=False, preload_content=False)
            answer.close()
    except (urllib3.exceptions.HTTPError, OSError):
        return HttpsStatus.ERROR
    return HttpsStatus.OK


def _trusting() -> ssl.SSLContext:
    """What browsers trust, and the roots that the operator's own authority has."""
    context = ssl.create_default_context()
    if settings.ACME_ROOTS:
        context.load_verify_locations(settings.ACME_ROOTS)
    return context


def _status(seen: Seen) -> DnsStatus:
    if not seen.addresses:
        return DnsStatus.UNRESOLVED
    return DnsStatus.OK if seen.points_here else DnsStatus.ELSEWHERE


def _may_be_shown(address: Address) -> bool:
    """Not what the system's own resolver knows of the network inside: callers are strangers to that."""
    inside = not public_networks.is_public(address) and not settings.DOMAIN_NAMESERVERS
    return settings.DEVELOPMENT or not inside or address == expected_ip()
