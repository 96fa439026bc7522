"""What we know of the chain. One node is read at a time, and never one that is behind the last reading."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TypeVar

from django.db import connection
from django.db.models import Q

from billing.models import ChainState
from billing.providers.crypto import rpc
from billing.providers.crypto.configuration import Configuration
from billing.providers.crypto.rpc import Node

log = logging.getLogger(__name__)

# The newest block told by a node is trusted for this long, if no other node has seen it since.
HEAD_TRUSTED = timedelta(minutes=10)
_LOCKS = 5_270_001

T = TypeVar("T")


def read(configuration: Configuration, work: Callable[[Node], T], *, now: datetime) -> T:
    """Let one node do all of this work, outside of any transaction. Raises Unknown."""

    def noted(node: Node) -> T:
        done = work(node)
        _note(configuration.chain_id, node, now=now)
        return done

    return _ask(configuration, configuration.urls, noted, at_least=head(configuration.chain_id, now=now))


def read_by(url: str, configuration: Configuration, work: Callable[[Node], T], *, at_least: int = 0) -> T:
    """Let this node do the work, and no other. Raises Unknown.

    Where a majority must agree, the node may be behind; it then reports less. The newest known block comes from one
    node, and must not exclude all others.
    """
    return _ask(configuration, [url], work, at_least=at_least)


def _ask(configuration: Configuration, urls: Sequence[str], work: Callable[[Node], T], *, at_least: int) -> T:
    return rpc.ask(
        urls,
        work,
        chain_id=configuration.chain_id,
        confirmation=configuration.confirmation,
        depth=configuration.depth,
        at_least=at_least,
        batch=configuration.batch,
    )


def _note(chain_id: int, node: Node, *, now: datetime) -> None:
    begin(chain_id, head=node.latest.number, final=node.final, now=now)
    newer = Q(head__lt=node.latest.number) | Q(head_at__lte=now - HEAD_TRUSTED)
    ChainState.objects.filter(newer, pk=chain_id).update(head=node.latest.number, head_at=now)


def begin(chain_id: int, *, head: int, final: int, now: datetime) -> None:
    """Start reading a chain at its first order. Earlier blocks are never needed."""
    first = {"head": head, "head_at": now, "pending_to": final, "all_to": final, "read_at": now}
    ChainState.objects.get_or_create(chain_id=chain_id, defaults=first)


def head(chain_id: int, *, now: datetime) -> int:
    """The newest block that a node told of, or 0 if that was too long ago."""
    known = ChainState.objects.filter(pk=chain_id, head_at__gt=now - HEAD_TRUSTED)
    return known.values_list("head", flat=True).first() or 0


def fault(chain_id: int) -> str:
    """Why orders are refused on this chain. Empty if they are accepted."""
    return ChainState.objects.filter(pk=chain_id).values_list("fault", flat=True).first() or ""


def set_fault(chain_id: int, reason: str) -> None:
    if ChainState.objects.filter(pk=chain_id).exclude(fault=reason[:300]).update(fault=reason[:300]) and reason:
        log.critical("stablecoins are off: %s", reason)


@contextmanager
def one_at_a_time(job: int) -> Iterator[bool]:
    """Take the lock of a job.

    Yields whether this process has it; until it is released no other process does the job.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [_LOCKS, job])
        (mine,) = cursor.fetchone()
        try:
            yield mine
        finally:
            if mine:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [_LOCKS, job])
