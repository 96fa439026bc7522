"""Whether the program in front of router and web may get a certificate for a name (docs/how-to/certificates.md).

After a yes, a visitor's handshake waits for a certificate authority. So the answer is only yes where the authority
would reach us: the name is the console's, a live agent's or a served domain, and DNS leads here. New names are counted
for each account, and so are tries for a name that never had a certificate.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.models import User
from agents.domains import records
from agents.domains.models import DomainClaim
from agents.models import Agent, CertifiedName
from config import waiting
from config.errors import Unavailable
from config.operator_settings import operator_settings

COUNTED_OVER = timedelta(days=7)
FRESH = timedelta(minutes=5)  # an answer of DNS about a domain is used for this long
TRIES = 5
TRIES_SECONDS = 3600.0
REMEMBERED = 10_000  # the tries of so many names are counted


class Tries:
    """Counts how often each name was allowed to try in the last hour. Only the last REMEMBERED names are counted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at: OrderedDict[str, deque[float]] = OrderedDict()

    def one_more(self, name: str) -> bool:
        now = time.monotonic()
        with self._lock:
            tries = self._at.setdefault(name, deque(maxlen=TRIES))
            self._at.move_to_end(name)
            if len(self._at) > REMEMBERED:
                self._at.popitem(last=False)
            if len(tries) == TRIES and now - tries[0] < TRIES_SECONDS:
                return False
            tries.append(now)
            return True


_tries = Tries()
# An account whose name servers never answer takes one place, and only for the time of one look.
_looks = waiting.WaitLimit(8, each=lambda: 1)


def may_have(name: str, *, now: datetime | None = None, has_one: bool = False) -> bool:
    """Whether the name may have a certificate. Asks DNS: call it outside a transaction.

    `has_one`: a certificate of the name is stored already, and is only loaded or renewed.
    """
    now = now or timezone.now()
    if name in {host.lower() for host in settings.CONSOLE_HOSTS if not host.startswith(".")}:
        return has_one or (_leads_here(name, account="") and _tries.one_more(name))
    user_id = _account_of(name, now=now, has_one=has_one)
    if user_id is None or not (has_one or _tries.one_more(name)):
        return False
    return _count(user_id, name, now=now)


def is_kept(name: str, *, storage: Path) -> bool:
    """Whether Caddy has a certificate of this name in its storage."""
    return any(storage.glob(f"certificates/*/{name}/{name}.crt"))


def _leads_here(name: str, *, account: str) -> bool:
    """Whether DNS says now that the name leads here. False when all places for such looks are taken."""
    try:
        with _looks.take(account):
            return records.look_address(name)
    except Unavailable:
        return False


def _account_of(name: str, *, now: datetime, has_one: bool) -> str | None:
    """The account of the name if the name leads here, else None. When a certificate is only renewed, no visitor waits,
    so the table alone decides."""
    suffix = f".{settings.PLATFORM_DOMAIN}"
    if name.endswith(suffix):
        of_slug = Agent.objects.live().filter(slug=name.removesuffix(suffix)).values_list("user_id", flat=True).first()
        return of_slug if of_slug and (has_one or _leads_here(name, account=of_slug)) else None
    served = DomainClaim.objects.serving(now).filter(domain=name, points_since__isnull=False)
    claim = served.only("user_id", "looked_at").first()
    if claim is None:
        return None
    is_fresh = has_one or (claim.looked_at is not None and now - claim.looked_at < FRESH)
    return claim.user_id if is_fresh or _leads_here(name, account=claim.user_id) else None


@transaction.atomic
def _count(user_id: str, name: str, *, now: datetime) -> bool:
    """Count the name for the account. False when the account has had its share of new names."""
    if CertifiedName.objects.filter(user_id=user_id, name=name).exists():
        return True
    User.objects.select_for_update(no_key=True).get(pk=user_id)
    lately = CertifiedName.objects.filter(user_id=user_id, since__gt=now - COUNTED_OVER).count()
    if lately >= operator_settings.MAX_CERTIFICATES:
        return False
    CertifiedName.objects.get_or_create(user_id=user_id, name=name, defaults={"since": now})
    return True
