"""Operators decide about money that bought nothing, and about overpaid money. Each decision is made once, with its
actor and reason.

A deposit that is part of an order's payment belongs to that payment's row in the ledger. If an operator chooses either
of them, all of it is decided together, so nothing is given twice for the same money. Any other deposit gets its row in
the ledger with the decision. Before that it may still pay an order, and would be counted twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet

from agents.models import Agent, Desired
from billing import corrections, payments, sums
from billing.models import CryptoOrder, Decision, Deposit, Payment
from billing.models.payments import refund_name
from billing.payments import Receipt
from billing.providers import registry
from billing.subscriptions import Purchase
from billing.vocabulary import PaymentKind, Period, Provider
from config.errors import BadRequest, Conflict

Money = Deposit | Payment

SENT_BACK = "it was sent back"


class NothingToDecide(Conflict):
    def __init__(self, money: str) -> None:
        super().__init__(
            f"{money}: there is nothing to decide: it bought something, may still buy something, or is or was sent back"
        )


class AlreadyDecided(Conflict):
    def __init__(self, money: str) -> None:
        super().__init__(f"{money}: an operator has decided about this money already; see Decisions")


class NotOfTheAccount(BadRequest):
    def __init__(self, agent_id: str) -> None:
        super().__init__(f"agent: {agent_id!r} is not an agent of the account that this money came from")


class DeletedAgent(Conflict):
    def __init__(self, agent_id: str) -> None:
        super().__init__(
            f"agent: {agent_id} is deleted; enter another agent of the same account, or send the money back"
        )


@dataclass(frozen=True, slots=True)
class _Whole:
    payment: Payment | None
    deposits: list[Deposit]


def undecided() -> QuerySet[Deposit]:
    """Deposits that bought nothing and wait for an operator's decision."""
    return Deposit.objects.filter(decision=None).exclude(unapplied="")


def vanished() -> QuerySet[Payment]:
    """Payments that a reorganisation removed from the chain, and that wait for an operator's decision."""
    gone = Payment.objects.filter(order__cryptoorder__dropped_at__isnull=False, decision=None)
    return gone.not_returned()


def overpaid() -> QuerySet[Payment]:
    """Overpaid payments. The overpaid part waits for an operator's decision."""
    return Payment.objects.filter(over__gt=0, unapplied="", decision=None)


@transaction.atomic
def credit(money: Money, *, days: int, agent_id: str = "", reason: str, actor: str, now: datetime) -> Payment:
    """Give days for money that bought nothing, to the agent that it was sent for or to another agent of the same
    account.

    Raises NothingToDecide, AlreadyDecided, DeletedAgent, NotOfTheAccount, NothingToCredit.
    """
    owner = _owner(money)
    agent = _locked(owner, agent_id or owner.pk)
    whole = _undecided(money)
    row = _received(whole, owner, reason=reason, actor=actor, now=now)
    given = corrections.credit(agent, days=days, reason=reason, actor=actor, now=now)
    _write(whole.deposits, row, credit=given, reason=reason, actor=actor, now=now)
    return given


@transaction.atomic
def close(money: Money, *, reason: str, actor: str, now: datetime) -> None:
    """Close without giving anything: we keep the money. If the money left the chain again, the agent keeps its time.

    Raises NothingToDecide, AlreadyDecided.
    """
    agent = Agent.objects.lock(_owner(money).pk)
    whole = _undecided(money, gone=True)
    row = _received(whole, agent, reason=reason, actor=actor, now=now)
    _write(whole.deposits, row, credit=None, reason=reason, actor=actor, now=now)


@transaction.atomic
def send_back(money: Money, *, reason: str, actor: str, now: datetime) -> Payment:
    """Write in the ledger that all of the money was sent back. Raises NothingToDecide, AlreadyDecided."""
    agent = Agent.objects.lock(_owner(money).pk)
    whole = _undecided(money)
    row = _received(whole, agent, reason=reason, actor=actor, now=now)
    _write(whole.deposits, row, credit=None, reason=reason, actor=actor, now=now)
    receipt = _way_back(row, reason=reason, actor=actor)
    return payments.write(receipt, agent, now=now, unapplied=SENT_BACK)


def _received(whole: _Whole, owner: Agent, *, reason: str, actor: str, now: datetime) -> Payment:
    """The ledger's row that says that the money came. No receipt is mailed, since the money paid for nothing."""
    if whole.payment is not None:
        return whole.payment
    (deposit,) = whole.deposits
    receipt = _receipt(deposit, owner, reason=reason, actor=actor)
    return payments.write(receipt, owner, now=now, unapplied=deposit.unapplied, mailed=False)


def _receipt(deposit: Deposit, owner: Agent, *, reason: str, actor: str) -> Receipt:
    """The receipt of a deposit that no order counts. Its value is the face value of the coins: one dollar each."""
    return Receipt(
        provider=Provider(deposit.asset),
        external_id=f"{deposit.tx_hash}:{deposit.log_index}",
        agent_id=owner.pk,
        purchase=Purchase(
            provider=None,
            tier=owner.tier,
            period=Period.MONTHLY,
            price_usd=sums.face_value(deposit.amount, deposit.asset),
        ),
        amount=int(deposit.amount),
        currency=deposit.asset,
        actor=actor,
        reason=reason,
    )


def _way_back(payment: Payment, *, reason: str, actor: str) -> Receipt:
    """The refund of a payment. If it bought nothing, all that we still have of it; otherwise the overpaid part only."""
    name, amount = payment.external_id, payment.amount and payment.amount - payment.gone_back
    if not payment.unapplied:
        name, amount = f"{name}:over", payment.over
    return Receipt(
        provider=Provider(payment.provider),
        external_id=refund_name(name),
        kind=PaymentKind.REFUND,
        agent_id=payment.agent_id,
        purchase=Purchase.of(payment),
        amount=None if amount is None else int(amount),
        currency=payment.currency,
        refund_of=payment.pk if payment.unapplied else None,
        actor=actor,
        reason=reason,
    )


def _owner(money: Money) -> Agent:
    return money.agent if isinstance(money, Payment) else money.deposit_address.agent


def _locked(owner: Agent, agent_id: str) -> Agent:
    """Lock both agents' rows in the order of their ids. Returns the agent that the days are for."""
    both = Agent.objects.locked().filter(pk__in={owner.pk, agent_id}).order_by("pk")
    rows = {row.pk: row for row in both}
    agent = rows.get(agent_id)
    if agent is None or agent.user_id != owner.user_id:
        raise NotOfTheAccount(agent_id)
    if agent.desired == Desired.DELETED:
        raise DeletedAgent(agent_id)
    return agent


def _undecided(money: Money, *, gone: bool = False) -> _Whole:
    """All money that is decided together with this one, read again under the agent's lock.

    `gone`: also accept a payment whose money left the chain again.
    """
    if gone and isinstance(money, Payment) and vanished().filter(pk=money.pk).exists():
        whole = _Whole(money, [])
    else:
        whole = _of_payment(money) if isinstance(money, Payment) else _of_deposit(money)
    decided = Decision.objects.filter(Q(deposit__in=whole.deposits) | Q(payment=whole.payment, payment__isnull=False))
    if decided.exists():
        raise AlreadyDecided(str(money.pk))
    if whole.payment and whole.payment.unapplied and not Payment.objects.open().filter(pk=whole.payment.pk).exists():
        raise NothingToDecide(str(money.pk))
    return whole


def _of_payment(row: Payment) -> _Whole:
    driver = registry.driver_of(Provider(row.provider))
    if (driver and driver.returns_strays) or (row.unapplied == "" and row.over == 0):
        raise NothingToDecide(row.pk)
    order = CryptoOrder.objects.filter(pk=row.order_id).first() if row.unapplied else None
    return _Whole(row, list(_unapplied_for(order)) if order else [])


def _of_deposit(row: Deposit) -> _Whole:
    row = Deposit.objects.get(pk=row.pk)
    if row.unapplied == "" or row.order_id is not None:
        raise NothingToDecide(str(row.pk))
    counted = Payment.objects.open().filter(
        order__cryptoorder__deposit_address=row.deposit_address_id,
        order__cryptoorder__chain_id=row.chain_id,
        order__cryptoorder__asset=row.asset,
        order__cryptoorder__token=row.token,
        order__cryptoorder__baseline_block__lt=row.block,
        order__cryptoorder__paid_block__gte=row.block,
    )
    payment = counted.order_by("at").first()
    return _of_payment(payment) if payment else _Whole(None, [row])


def _unapplied_for(order: CryptoOrder) -> QuerySet[Deposit]:
    """The deposits for an order whose payment bought nothing."""
    return Deposit.objects.filter(
        ~Q(unapplied=""),
        chain_id=order.chain_id,
        deposit_address=order.deposit_address_id,
        asset=order.asset,
        token=order.token,
        block__gt=order.baseline_block,
        block__lte=order.paid_block or 0,
        order=None,
    ).order_by(F("block"), F("log_index"))


def _write(
    deposits: list[Deposit], payment: Payment, *, credit: Payment | None, reason: str, actor: str, now: datetime
) -> None:
    common = {"credit": credit, "reason": reason, "actor": actor, "at": now}
    rows = [Decision(deposit=row, **common) for row in deposits]
    try:
        with transaction.atomic():
            Decision.objects.bulk_create([*rows, Decision(payment=payment, **common)])
    except IntegrityError as error:  # the licence paid again for another agent, whose lock is a different one
        raise AlreadyDecided(payment.pk) from error
