"""The customer's own hostname of an agent: which may be given, and whether its DNS leads here yet."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection
from django.db.models import F

from agents.errors import DomainTaken
from agents.models import Agent
from config.errors import BadRequest
from webhooks import resolving

MAX_DOMAIN_CHARACTERS = 253
RESOLVE_SECONDS = 2.0
LOOKED_AT = 50  # new domains in one minute
_THREADS = 10
_LABEL = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)")


def normalised(domain: str) -> str:
    """The hostname in lower-case ASCII. Raises BadRequest when it is none, or lies under the platform's own domain."""
    try:
        host = domain.strip().lower().encode("idna").decode() if not domain.isascii() else domain.strip().lower()
    except UnicodeError as error:
        raise BadRequest(f"domain: {domain!r} is not a hostname") from error
    labels = host.split(".")
    if len(host) > MAX_DOMAIN_CHARACTERS or len(labels) < 2 or not all(_LABEL.fullmatch(label) for label in labels):
        raise BadRequest(f"domain: {domain!r} is not a hostname such as agent.example.com")
    if _is_address(host) or labels[-1].isdigit():
        raise BadRequest(f"domain: {domain!r} is an address, not a hostname")
    _refuse_platform_domain(host)
    return host


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _refuse_platform_domain(host: str) -> None:
    names = [settings.PLATFORM_DOMAIN, *settings.CONSOLE_HOSTS]
    for own in (name.removeprefix(".").lower() for name in names):  # `.example.com` stands for all below it
        if host == own or host.endswith(f".{own}"):
            raise BadRequest(f"domain: names under {own} are assigned automatically; give your own, or none")


def refuse_taken(domain: str) -> None:
    """Raise DomainTaken while another agent holds it; the unique constraint is what makes it certain."""
    if Agent.objects.live().filter(domain=domain).exists():
        raise DomainTaken(domain)


# Whether its DNS leads here: a certificate is ordered only then.

# Each agent has its own minutes: in the first hour all of them, in the first day each tenth, then one an hour. Nothing
# need be remembered for that. More than can be looked at take their chances.
_NEW = """
SELECT id, domain FROM agents_agent
WHERE domain IS NOT NULL AND domain_ready_at IS NULL AND desired <> 'deleted'
    AND mod(abs(hashtext(id)::bigint) + %(minute)s,
        CASE WHEN created_at > %(hour_ago)s THEN 1 WHEN created_at > %(day_ago)s THEN 10 ELSE 60 END) = 0
ORDER BY random() LIMIT %(limit)s
"""


def leads_here(domain: str) -> bool:
    """Whether DNS has EXPECTED_IP for it. Asks for up to 2 s: call it outside of transactions."""
    if not _is_address(settings.EXPECTED_IP):
        return False
    return ipaddress.ip_address(settings.EXPECTED_IP) in resolving.lookup(domain, seconds=RESOLVE_SECONDS)


def look_at_new(now: datetime, *, leads: Callable[[str], bool] = leads_here) -> int:
    """Ask DNS for domains that did not lead here yet; called once a minute. Pods of those that do now are told.

    Returns how many do.
    """
    new = _new(now)
    with ThreadPoolExecutor(_THREADS) as threads:
        found = list(threads.map(leads, new.values()))
    ready = [agent_id for agent_id, good in zip(new, found, strict=True) if good]
    return (
        Agent.objects.live()
        .filter(pk__in=ready, domain__in=[new[agent_id] for agent_id in ready], domain_ready_at__isnull=True)
        .update(domain_ready_at=now, spec_revision=F("spec_revision") + 1, reconcile_at=now)
    )


def _new(now: datetime) -> dict[str, str]:
    """The domains of agents that are looked at in this minute."""
    values: dict[str, int | datetime] = {
        "minute": int(now.timestamp()) // 60,
        "hour_ago": now - timedelta(hours=1),
        "day_ago": now - timedelta(days=1),
        "limit": LOOKED_AT,
    }
    with connection.cursor() as cursor:
        cursor.execute(_NEW, values)
        return dict(cursor.fetchall())
