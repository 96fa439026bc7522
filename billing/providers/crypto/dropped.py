"""Check that a payment is still on the chain: a reorganisation may drop a block that was not final.

If the chain itself says what is final (CRYPTO_CONFIRMATION), nothing is checked again. Otherwise each node is asked for
two hours. If a majority no longer knows a payment, operators are alarmed and decide: the customer may have done nothing
wrong, and the payment may come again, which is noticed too.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.core.mail import mail_admins
from django.db import transaction
from django.db.models import QuerySet

from agents.models import Agent
from billing import payments
from billing.models import CryptoOrder, Deposit, Payment
from billing.payments import Receipt
from billing.providers.crypto import agreement, chain, settling, tokens
from billing.providers.crypto.configuration import Configuration
from billing.providers.crypto.errors import Unknown
from billing.providers.crypto.rpc import Node
from billing.providers.crypto.tokens import Transfer
from billing.vocabulary import PaymentKind

log = logging.getLogger(__name__)

WATCHED = timedelta(hours=2)  # from the time of the payment
MISSED = timedelta(days=14)  # how long we look for a payment that disappeared
AT_ONCE = 100
AGAIN = ":again"
TAKEN_BACK = "it came again after the time that it had bought was ended"
WORDS = (
    "Order {row.pk} of {row.agent_id} was paid by {row.tx_hash}. Most nodes do not know this transaction any more. The"
    " agent still runs. Decide in the admin under Payments, filtered by 'disappeared from the chain': end the time that"
    " it bought, or close it."
)

Words = dict[int, list[Transfer]]  # deposit id -> what its transaction transfers now; empty if it disappeared


def due(settings: Configuration, *, now: datetime) -> QuerySet[CryptoOrder]:
    return CryptoOrder.objects.filter(chain_id=settings.chain_id, recheck_at__lte=now).order_by("recheck_at")


def look(settings: Configuration, *, now: datetime) -> None:
    """Ask all nodes about the orders that are due. A node that does not answer has no vote."""
    rows = list(due(settings, now=now).prefetch_related("deposits", "deposit_address")[:AT_ONCE])
    deposits = [deposit for row in rows for deposit in row.deposits.all()]
    if not rows:
        return
    words = _words(settings, deposits)
    for row in rows:
        _judge(settings, row, words, now=now)


def known(settings: Configuration, deposits: Sequence[Deposit]) -> list[Deposit]:
    """The deposits that most nodes know. The one node that reported a transfer may have invented it or its block."""
    if not deposits:
        return []
    words, majority = _words(settings, deposits), _majority(settings)
    there = [one for one in deposits if _is_in_place(one, _moved(one, words, majority))]
    for one in deposits:
        if one not in there:
            log.error("most nodes do not know the transaction of a deposit", extra={"deposit": one.tx_hash})
    return there


def _is_in_place(row: Deposit, told: Sequence[Transfer]) -> bool:
    """Whether the deposit is where most nodes see it.

    If one node put it elsewhere, move the row, unless that place is taken.
    """
    same = [one for one in told if (one.receiver, one.token, one.amount) == _what(row)]
    if any((one.block, one.block_hash, one.log_index) == (row.block, row.block_hash, row.log_index) for one in same):
        return True
    others = Deposit.objects.filter(chain_id=row.chain_id, tx_hash=row.tx_hash).exclude(pk=row.pk)
    taken = set(others.values_list("log_index", flat=True))
    free = [one for one in same if one.log_index not in taken]
    if free:
        settling.follow([(free[0], row)])
    return bool(free)


def _what(row: Deposit) -> tuple[str, str, int]:
    return row.deposit_address.address, row.token, int(row.amount)


def _majority(settings: Configuration) -> int:
    return len(settings.urls) // 2 + 1


def _words(settings: Configuration, deposits: Sequence[Deposit]) -> list[Words]:
    """The answers of the nodes that are as far as most. A node that is behind does not know new transfers yet."""
    try:
        reached = agreement.heights(settings).latest
    except Unknown:
        return []
    return [word for url in settings.urls if (word := _said(settings, url, deposits, reached=reached)) is not None]


def _said(settings: Configuration, url: str, deposits: Sequence[Deposit], *, reached: int) -> Words | None:
    known = list(settings.assets)

    def work(node: Node) -> Words:
        told = node.batch([tokens.receipt(row.tx_hash) for row in deposits])
        receipts = [tokens.receipt_in(node.must(answer)) for answer in told]
        return {
            row.pk: tokens.transfers_in(receipt, known) if receipt and receipt.worked else []
            for row, receipt in zip(deposits, receipts, strict=True)
        }

    try:
        return chain.read_by(url, settings, work, at_least=reached)
    except Unknown:
        return None


def _judge(settings: Configuration, row: CryptoOrder, words: Sequence[Words], *, now: datetime) -> None:
    majority = _majority(settings)
    deposits = list(row.deposits.all())
    gone = [one for one in deposits if sum(not _is_there(one, row, word) for word in words) >= majority]
    there = [one for one in deposits if sum(_is_there(one, row, word) for word in words) >= majority]
    never_came = not deposits and row.paid_at is not None and row.paid_at <= now - WATCHED and len(words) >= majority
    if gone or never_came:
        _miss(row, now=now)
    elif deposits and len(there) == len(deposits):
        for one in there:
            settling.record(_moved(one, words, majority), settings, now=now)
        _find(row, now=now)
    CryptoOrder.objects.filter(pk=row.pk).update(recheck_at=_next(row, now=now))


def _is_there(deposit: Deposit, at: CryptoOrder | Deposit, word: Words) -> bool:
    to = at.deposit_address.address
    return any(
        (one.receiver, one.token, one.amount) == (to, deposit.token, int(deposit.amount)) for one in word[deposit.pk]
    )


def _moved(deposit: Deposit, words: Sequence[Words], majority: int) -> list[Transfer]:
    """What most nodes say that the transaction transfers, perhaps in another block than before."""
    said = Counter(tuple(word[deposit.pk]) for word in words)
    most, nodes = said.most_common(1)[0] if said else ((), 0)
    return list(most) if nodes >= majority else []


def _miss(row: CryptoOrder, *, now: datetime) -> None:
    if not CryptoOrder.objects.filter(pk=row.pk, dropped_at=None).update(dropped_at=now):
        return
    row.dropped_at = now
    log.critical("the payment of an order disappeared from the chain", extra={"order": row.pk, "agent": row.agent_id})
    try:
        mail_admins(f"The payment of {row.pk} disappeared from the chain", WORDS.format(row=row))
    except OSError:
        log.exception("the mail to the operators failed", extra={"order": row.pk})


@transaction.atomic
def _find(row: CryptoOrder, *, now: datetime) -> None:
    agent = Agent.objects.lock(row.agent_id)
    if not CryptoOrder.objects.filter(pk=row.pk, dropped_at__isnull=False).update(dropped_at=None):
        return
    row.dropped_at = None
    log.warning("the payment of an order is on the chain again", extra={"order": row.pk})
    if (again := _bought_nothing(row)) is not None:
        payments.write(again, agent, now=now, unapplied=TAKEN_BACK)


def _bought_nothing(row: CryptoOrder) -> Receipt | None:
    """A receipt for a payment that came again after an operator had ended its time.

    Once only; an operator decides again.
    """
    rows = Payment.objects.filter(order=row.pk, kind=PaymentKind.PAYMENT)
    if rows.filter(external_id=f"{row.pk}{AGAIN}").exists() or rows.not_returned().exists():
        return None
    receipt = settling.receipt(row, received=int(row.amount), over=0, late=row.late)
    return replace(receipt, external_id=f"{row.pk}{AGAIN}")


def _next(row: CryptoOrder, *, now: datetime) -> datetime | None:
    if row.paid_at is None:
        return None
    until = row.paid_at + (WATCHED if row.dropped_at is None else MISSED)
    later = now + settling.RECHECKED
    return later if now < until else None
