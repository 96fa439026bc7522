"""Looks again at claimed names: each minute a limited number of those that are due, shared fairly between accounts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

from django.utils import timezone

from agents.domains import claims, records
from agents.domains.models import HELD, DomainClaim
from agents.domains.records import DnsAnswers
from agents.models import Agent, Desired
from agents.runtimes import current_runtime
from agents.runtimes.base import RuntimeFailure
from config import sql

log = logging.getLogger(__name__)

LOOKED_AT = 200  # names in one run
OF_ONE_ACCOUNT = 20
THREADS = 16
LEASE = timedelta(minutes=5)  # no other run looks at a taken name before this time
UNROUTED = 50  # names in one run
UNROUTE_AGAIN = timedelta(minutes=1)

# When two runs start together, the second one waits for the rows of the first one, and then finds them taken.
_TAKE = """
UPDATE agents_domainclaim SET look_at = %(until)s
WHERE look_at <= %(now)s AND id IN (
    SELECT id FROM (
        SELECT id, look_at, row_number() OVER (PARTITION BY user_id ORDER BY look_at) AS number
        FROM agents_domainclaim WHERE look_at <= %(now)s
    ) AS due
    WHERE number <= %(each)s ORDER BY look_at LIMIT %(limit)s
)
RETURNING id, domain
"""


def look_at_due(now: datetime | None = None, *, look: Callable[[str], DnsAnswers] = records.look) -> int:
    """Ask DNS about the claims that are due, and remove the routes of claims that ended. Returns how many claims were
    due."""
    now = now or timezone.now()
    values = {"now": now, "until": now + LEASE, "each": OF_ONE_ACCOUNT, "limit": LOOKED_AT}
    due: dict[str, str] = dict(sql.rows(_TAKE, values))
    with ThreadPoolExecutor(THREADS) as threads:
        found = list(threads.map(look, due.values()))
    for claim_id, seen in zip(due, found, strict=True):
        claims.observe(claim_id, seen, now=now)
    unroute_due(now)
    return len(due)


def unroute_due(now: datetime) -> int:
    """In clusters, remove the routes that still lead an ended claim's name to its agent. Returns the number of
    names."""
    due = DomainClaim.objects.filter(unroute_at__lte=now).select_related("agent").order_by("unroute_at")[:UNROUTED]
    return sum(_unroute(claim, now=now) for claim in due)


def _unroute(claim: DomainClaim, *, now: datetime) -> bool:
    """Remove the routes of one name. The routes of a deleted agent end with its namespace."""
    if claim.agent.desired != Desired.DELETED and not _leads_again(claim):
        try:
            current_runtime().unroute(claim.agent.namespace, claim.domain)
        except RuntimeFailure as failure:
            log.warning(
                "the routes of a name could not be removed", extra={"domain": claim.domain, "error": str(failure)}
            )
            DomainClaim.objects.filter(pk=claim.pk).update(unroute_at=now + UNROUTE_AGAIN)
            return False
    done = DomainClaim.objects.filter(pk=claim.pk, unroute_at=claim.unroute_at)
    return bool(done.update(unroute_at=None))


def _leads_again(claim: DomainClaim) -> bool:
    """Whether the agent has the name again; then its routes must stay."""
    again = DomainClaim.objects.filter(agent_id=claim.agent_id, domain=claim.domain, status__in=HELD)
    ready = Agent.objects.filter(pk=claim.agent_id, domain=claim.domain, domain_ready_at__isnull=False)
    return again.exists() and ready.exists()
