"""Orders in stablecoins: the amount, the address, and the block from which money counts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, Decimal

from django.conf import settings

from accounts.models import ApiKey
from agents.models import Agent
from billing import coupons, orders
from billing.errors import NotConfigured
from billing.models import CryptoOrder, DepositAddress, Order
from billing.orders import Terms
from billing.providers.crypto import addresses, baselines, chain, configuration, tokens
from billing.providers.crypto.baselines import Baseline
from billing.providers.crypto.configuration import Configuration, Token
from billing.providers.crypto.errors import ChainUnreadable, Misconfigured, Unknown
from billing.providers.crypto.rpc import Node
from billing.providers.crypto.swept import swept
from billing.vocabulary import Asset, Period, Provider
from catalog.engines import check_tier, engine_of
from catalog.tiers import known_tier
from config import dry_run, waiting

TTL = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class CryptoInfo:
    """The public data about stablecoins (docs/spec.md: CryptoInfo)."""

    enabled: bool
    chain_id: int
    assets: list[Token]


def info() -> CryptoInfo:
    known = configuration.current()
    if known is None or chain.fault(known.chain_id):
        return CryptoInfo(enabled=False, chain_id=settings.CRYPTO_CHAIN_ID, assets=[])
    return CryptoInfo(enabled=True, chain_id=known.chain_id, assets=list(known.tokens.values()))


def in_units(usd: Decimal, decimals: int) -> int:
    """A price in USD as the token's smallest units, rounded up."""
    return int((usd * Decimal(10) ** decimals).to_integral_value(ROUND_CEILING))


def place(
    agent: Agent,
    *,
    asset: Asset,
    tier: str | None,
    period: Period,
    coupon: str = "",
    key: ApiKey | None = None,
    now: datetime,
) -> CryptoOrder:
    """The agent's pending order with these terms, with its baseline.

    The chain is read before a row is written: if it cannot be read, nothing is stored. Raises EngineBelowMinTier,
    NothingToPay, CouponRefused, NotConfigured, ChainUnreadable, and the errors of orders.place.
    """
    terms = Terms(Provider(asset), tier or agent.tier, period, coupon)
    tier_row = known_tier(terms.tier)
    check_tier(engine_of(agent.engine), tier_row)
    price = coupons.price(agent, tier_row, period, coupon, now=now)
    known, token = offered(asset)
    pending = orders.pending_of(agent)
    if pending is not None and terms.are_of(pending):
        return CryptoOrder.objects.select_related("deposit_address").get(pk=pending.pk)
    new = orders.new(CryptoOrder, agent, terms, ids="cry", price=price, lasts=TTL, now=now)
    new.asset, new.chain_id, new.token, new.decimals = token.asset, known.chain_id, token.address, token.decimals
    new.amount = Decimal(in_units(price, token.decimals))
    _set_deposit(new, agent, known, token, now=now)
    placed = orders.place(agent, terms, make=lambda _: orders.stored(new), key=key, now=now)
    if placed.pk == new.id:
        return new
    return CryptoOrder.objects.select_related("deposit_address").get(pk=placed.pk)


def _set_deposit(new: CryptoOrder, agent: Agent, known: Configuration, token: Token, *, now: datetime) -> None:
    """Set the address, and what it holds now.

    A dry run takes no index of an address and shows none: another agent may get it. Its row names an address that is
    not there, which the database would refuse only at the commit.
    """
    if dry_run.skips(orders.PAYMENT_UNASKED):
        new.deposit_address, new.baseline, new.baseline_block = DepositAddress(pk=0), Decimal(0), 0
        return
    new.deposit_address = addresses.address_of(agent, known.account, now=now)
    baseline = _baseline(known, token, new.deposit_address, account=agent.user_id, now=now)
    new.baseline = Decimal(baseline.balance)
    new.baseline_block, new.baseline_hash = baseline.block, baseline.hash


def offered(asset: Asset) -> tuple[Configuration, Token]:
    """The settings and the token of this coin. Raises NotConfigured if it cannot be paid with."""
    known = configuration.current()
    if known is None or asset not in known.tokens or chain.fault(known.chain_id):
        raise NotConfigured("asset", asset)
    return known, known.tokens[asset]


def _baseline(known: Configuration, token: Token, address: DepositAddress, *, account: str, now: datetime) -> Baseline:
    try:
        with waiting.looks.take(account):
            return baselines.at_latest(known, token, address, now=now)
    except Unknown as error:
        raise ChainUnreadable from error
    except Misconfigured as error:
        chain.set_fault(known.chain_id, str(error))
        raise NotConfigured("asset", token.asset) from error


def money_seen(order: Order, *, now: datetime) -> bool:
    """Whether money for the order came, final or not, swept or not. Raises ChainUnreadable if no node can tell.

    If the order's chain is no longer read, money may have come until the order expires. The same holds for a token that
    is no longer sold and whose contract does not answer.
    """
    row = CryptoOrder.objects.select_related("deposit_address").get(pk=order.pk)
    known = configuration.current()
    if row.seen > 0:
        return True
    if known is None or known.chain_id != row.chain_id:
        return row.expires_at > now

    taken = swept([row])

    def work(node: Node) -> int:
        answers = node.batch([tokens.balance(row.token, row.deposit_address.address, block=node.latest.number)])
        return tokens.balance_in(answers[0]) + taken.since(row, until=node.latest.number)

    try:
        return chain.read(known, work, now=now) > row.baseline
    except Unknown as error:
        if row.token not in known.sold:
            return row.expires_at > now
        raise ChainUnreadable from error
