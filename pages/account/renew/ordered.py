"""An order for the person who pays it: the amount, where to send it, and its progress."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString

from billing.crypto import configuration, settling
from billing.crypto.configuration import Token
from billing.models import ChainState, CryptoOrder, Order, StarsOrder, StripeOrder
from billing.sums import exact
from billing.vocabulary import NAMES, Asset, OrderStatus, Provider
from pages.account import words
from pages.account.names import chain_name, plan_name
from pages.account.renew import qr
from pages.words import usd


@dataclass(frozen=True, slots=True, kw_only=True)
class CryptoOrderView:
    """An order in stablecoins. `state` is waiting, partial, seen or expired."""

    order: Order
    state: str
    plan: str
    token: str
    token_contract: str
    chain: str
    chain_id: int
    address: str
    amount: str
    seen: str  # empty if nothing was received
    missing: str  # set if a part was received
    over: str  # more than the amount
    depth: int | None  # number of blocks since it was seen, including that block
    needed: int | None  # number of blocks after which it is final, if blocks are counted
    expires: str
    overdue: bool  # nothing more should be sent
    counts_until: str
    code: SafeString
    kind: str = "deposit"


@dataclass(frozen=True, slots=True, kw_only=True)
class StarsOrderView:
    """An order in stars. `state` is waiting, held or expired."""

    order: Order
    state: str
    plan: str
    stars: int
    link: str
    code: SafeString
    expires: str
    overdue: bool
    kind: str = "invoice"


@dataclass(frozen=True, slots=True, kw_only=True)
class CardOrderView:
    """An order by card. `state` is waiting or expired."""

    order: Order
    state: str
    plan: str
    price: str
    link: str
    expires: str
    overdue: bool
    kind: str = "checkout"


def read(order: Order, *, now: datetime) -> CryptoOrderView | StarsOrderView | CardOrderView:
    if order.provider == Provider.STARS:
        return _invoice(StarsOrder.objects.get(pk=order.pk), now=now)
    if order.provider == Provider.STRIPE:
        return _checkout(StripeOrder.objects.get(pk=order.pk), now=now)
    return _deposit(CryptoOrder.objects.select_related("deposit_address").get(pk=order.pk), now=now)


def _deposit(order: CryptoOrder, *, now: datetime) -> CryptoOrderView:
    missing, decimals, is_taken = order.amount - order.seen, order.decimals, _token(order) is not None
    return CryptoOrderView(
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
    return token.symbol if token else NAMES[Provider(order.asset)]


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


def _invoice(order: StarsOrder, *, now: datetime) -> StarsOrderView:
    held = order.hold_until is not None and order.hold_until > now
    pending = order.status == OrderStatus.PENDING
    return StarsOrderView(
        order=order,
        state=("held" if held else "waiting") if pending else "expired",
        plan=plan_name(order.tier),
        stars=order.amount_stars,
        link=order.invoice_link,
        code=qr.drawing(order.invoice_link),
        expires=words.moment(order.expires_at),
        overdue=order.expires_at <= now,
    )


def _checkout(order: StripeOrder, *, now: datetime) -> CardOrderView:
    return CardOrderView(
        order=order,
        state="waiting" if order.status == OrderStatus.PENDING else "expired",
        plan=plan_name(order.tier),
        price=usd(order.price_usd),
        link=order.checkout_url,
        expires=words.moment(order.expires_at),
        overdue=order.expires_at <= now,
    )
