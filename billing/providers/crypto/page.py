"""Stablecoins on the owners' pages: the amount, where to send it, and how far it is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import ClassVar

from django.utils.safestring import SafeString
from django.utils.translation import gettext

from agents.models import Agent
from billing.models import ChainState, CryptoOrder, Order, Payment
from billing.providers.crypto import configuration, orders, settling
from billing.providers.crypto.configuration import Token
from billing.providers.crypto.errors import ChainUnreadable
from billing.providers.page import ProviderPage, ShownOrder
from billing.sums import exact
from billing.vocabulary import Asset, OrderStatus, Provider
from config.errors import ServiceError
from pages.account import words
from pages.account.names import chain_name, plan_name
from pages.account.renew import qr


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositOrder(ShownOrder):
    """An order in stablecoins. `state` is waiting, partial, seen or expired. If it is overdue, send nothing more."""

    token: str
    token_contract: str
    chain: str
    chain_id: int
    address: str
    amount: str
    seen: str  # empty if nothing was received
    over: str  # more than the amount
    depth: int | None  # number of blocks since it was seen, including that block
    needed: int | None  # number of blocks after which it is final, if blocks are counted
    counts_until: str
    code: SafeString
    template: ClassVar[str] = "account/renew_deposit.html"


class CoinPage(ProviderPage):
    @property
    def next_step(self) -> str:
        return gettext("Show the address to pay to")

    def about(self, agent: Agent) -> str:
        text = gettext("A stablecoin on %(chain)s, sent from your wallet or an exchange.")
        return text % {"chain": chain_name(orders.info().chain_id)}

    def to_pay(self, price_usd: Decimal) -> str:
        _, token = orders.offered(Asset(self.provider))
        coins = exact(orders.in_units(price_usd, token.decimals), token.decimals)
        return gettext("To pay: exactly %(coins)s %(coin)s.") % {"coins": coins, "coin": token.symbol}

    def order(self, order: Order, *, now: datetime) -> DepositOrder:
        return _deposit(CryptoOrder.objects.select_related("deposit_address").get(pk=order.pk), now=now)

    def amount(self, payment: Payment) -> str:
        if payment.amount is None or payment.order is None or payment.currency not in Asset.values:
            return super().amount(payment)
        return f"{exact(payment.amount, payment.order.cryptoorder.decimals)} {payment.currency.upper()}"

    def over(self, payment: Payment) -> str:
        order = _order_of(payment) if payment.over else None
        return f"{exact(payment.over, order.decimals)} {payment.currency.upper()}" if order else ""

    def transaction(self, payment: Payment) -> str:
        order = _order_of(payment)
        return (order.tx_hash or "") if order else ""

    def refusal(self, error: ServiceError) -> str:
        if isinstance(error, ChainUnreadable):
            return gettext("The blockchain cannot be read at the moment. Nothing was ordered: try again soon.")
        return ""


def page(provider: Provider) -> CoinPage:
    return CoinPage(provider)


def _order_of(payment: Payment) -> CryptoOrder | None:
    return CryptoOrder.objects.filter(pk=payment.order_id).first()


def _deposit(order: CryptoOrder, *, now: datetime) -> DepositOrder:
    missing, decimals, is_taken = order.amount - order.seen, order.decimals, _token(order) is not None
    return DepositOrder(
        order=order,
        state=_state(order),
        plan=plan_name(order.tier),
        token=_symbol(order),
        token_contract=order.token,
        chain=chain_name(order.chain_id),
        chain_id=order.chain_id,
        address=order.deposit_address.address,
        amount=exact(order.amount, decimals),
        seen=exact(order.seen, decimals) if order.seen else "",
        missing=exact(missing, decimals) if order.seen and missing > 0 and is_taken else "",
        over=exact(-missing, decimals) if missing < 0 else "",
        depth=_depth(order),
        needed=_needed(order),
        expires=words.moment(order.expires_at),
        overdue=order.expires_at <= now or not is_taken,
        counts_until=words.moment(order.expires_at + settling.LATE),
        code=qr.drawing(order.deposit_address.address),
    )


def _state(order: CryptoOrder) -> str:
    if order.status != OrderStatus.PENDING:
        return "expired"
    if order.seen >= order.amount:
        return "seen"
    return "partial" if order.seen else "waiting"


def _symbol(order: CryptoOrder) -> str:
    """The token's own symbol on the chain."""
    token = _token(order)
    return token.symbol if token else order.asset.upper()


def _token(order: CryptoOrder) -> Token | None:
    """The order's token in the settings. None if the settings now have another chain or another token."""
    known = configuration.current()
    token = known.tokens.get(Asset(order.asset)) if known and known.chain_id == order.chain_id else None
    return token if token and token.address == order.token else None


def _depth(order: CryptoOrder) -> int | None:
    """At least how many blocks: the money may have come before we first saw it."""
    if order.seen_block is None:
        return None
    head = ChainState.objects.filter(pk=order.chain_id).values_list("head", flat=True).first()
    return max(head - order.seen_block + 1, 1) if head is not None else None


def _needed(order: CryptoOrder) -> int | None:
    known = configuration.current()
    return known.depth + 1 if known and known.chain_id == order.chain_id and known.depth is not None else None
