"""The answer about a hostname (docs/spec.md: DomainCheck), and the DNS records that its owner must set."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import urllib3
from django.conf import settings

from agents.domains import claims, names, records
from agents.domains.records import DnsAnswers, expected_ip
from config import dry_run, public_networks, waiting
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
class DnsRecord:
    """One DNS record that the owner of the name must set."""

    type: str
    name: str
    value: str


def look(user_id: str, domain: str) -> DnsAnswers:
    """What DNS says now. Takes a place among the calls that wait. Call it outside of transactions.

    A dry run does not ask: nobody knows then where the name leads.
    """
    if dry_run.skips("domain (DNS)"):
        return DnsAnswers(addresses=None, texts=None)
    with waiting.names.take(user_id):
        return records.look(domain)


def of(user_id: str, domain: str, *, https: bool) -> DomainCheck:
    """Whether the name leads here and, with `https`, whether it is served here over HTTPS.

    Only EXPECTED_IP is ever called, never an address that DNS names. Raises BadRequest.
    """
    host = names.normalised(domain)
    with waiting.names.take(user_id):
        seen = DnsAnswers(addresses=records.addresses_of(host), texts=None)
        return from_dns(host, seen, probe=probe if https else None)


def from_dns(domain: str, seen: DnsAnswers, *, probe: Callable[[str], HttpsStatus] | None = None) -> DomainCheck:
    """The check made from an answer of DNS that is known already. Without a probe HTTPS is skipped."""
    status = _status(seen)
    asked = probe if status == DnsStatus.OK else None
    return DomainCheck(
        domain=domain,
        expected_ip=settings.EXPECTED_IP,
        dns=Dns(status=status, addresses=[str(address) for address in seen.addresses or () if _may_be_shown(address)]),
        https=Https(status=asked(domain) if asked else HttpsStatus.SKIPPED),
    )


def to_set(domain: str, user_id: str) -> list[DnsRecord]:
    """The records that the owner must set. TXT comes first: if it is set first, the name serves as soon as its address
    leads here."""
    address = expected_ip()
    kind = "AAAA" if address is not None and address.version == 6 else "A"
    return [
        DnsRecord(type="TXT", name=f"{names.PROOF_PREFIX}{domain}", value=claims.value_of(user_id)),
        DnsRecord(type=kind, name=domain, value=settings.EXPECTED_IP),
    ]


def probe(domain: str) -> HttpsStatus:
    """Whether EXPECTED_IP shows a trusted certificate for this name and answers."""
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
    """Trusts what browsers trust, and the roots of the operator's own authority."""
    context = ssl.create_default_context()
    if settings.ACME_ROOTS:
        context.load_verify_locations(settings.ACME_ROOTS)
    return context


def _status(seen: DnsAnswers) -> DnsStatus:
    if not seen.addresses:
        return DnsStatus.UNRESOLVED
    return DnsStatus.OK if seen.points_here else DnsStatus.ELSEWHERE


def _may_be_shown(address: Address) -> bool:
    """Whether a caller may see the address. Addresses inside our network, which only the system's resolver knows, are
    not shown to strangers."""
    inside = not public_networks.is_public(address) and not settings.DOMAIN_NAMESERVERS
    return settings.DEVELOPMENT or not inside or address == expected_ip()
