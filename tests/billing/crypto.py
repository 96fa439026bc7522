"""A chain, an installation that accepts stablecoins on it, and orders that people pay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from agents.models import Agent
from billing.models import ChainState, CryptoOrder
from billing.providers.crypto import orders, scanning, watching
from billing.vocabulary import Asset, Period
from tests.billing.conftest import Clock
from tests.doubles.chain import CHAIN_ID, Chain, TokenContract
from tests.doubles.rpc_proxy import RpcProxy
from tests.doubles.wallet import XPUB, first_address

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
USD = 10**6

Order = Callable[..., CryptoOrder]


@pytest.fixture
def chain(one_chain: Chain) -> Iterator[Chain]:
    """The chain in its first state for each test."""
    snapshot = one_chain.snapshot()
    yield one_chain
    one_chain.revert(snapshot)


@pytest.fixture
def coins(chain: Chain, settings: Settings) -> Chain:
    """An installation that accepts both coins. In these tests usdt has 6 decimals and usdc has 18."""
    settings.CRYPTO_RPC_URLS = [chain.url]
    settings.CRYPTO_CHAIN_ID = CHAIN_ID
    settings.CRYPTO_XPUB = XPUB
    settings.CRYPTO_FIRST_ADDRESS = first_address()
    settings.CRYPTO_TOKENS = {"usdt": f"{chain.usdt.address}:6:USDT", "usdc": f"{chain.usdc.address}:18:USDC"}
    return chain


@pytest.fixture
def proxy(coins: Chain, settings: Settings) -> Iterator[RpcProxy]:
    """A proxy as the only node, which a test can make fail."""
    double = RpcProxy(coins.url)
    settings.CRYPTO_RPC_URLS = [double.url]
    yield double
    double.stop()


@pytest.fixture
def order(coins: Chain, clock: Clock, running: Agent) -> Order:
    """`order(asset=…)` places an order for the running agent."""

    def placed(agent: Agent | None = None, **wanted: Any) -> CryptoOrder:
        values: dict[str, Any] = {"asset": Asset.USDT, "tier": None, "period": Period.MONTHLY, **wanted}
        return orders.place(agent or running, now=clock.now, **values)

    return placed


def scan(clock: Clock) -> None:
    scanning.scan(now=clock.now)


def settle(chain: Chain, clock: Clock) -> None:
    """Make everything sent so far final, and scan the chain."""
    chain.final()
    scan(clock)


def wait(chain: Chain, clock: Clock, by: timedelta) -> None:
    """Move the test's clock and the chain's, with scans at intervals."""
    steps = 4
    for _ in range(steps):
        clock.go(by / steps)
        chain.mine(at=clock.now)
        looked(clock)
        scan(clock)


def looked(clock: Clock) -> None:
    """Mark the chain as scanned until now."""
    ChainState.objects.update(read_at=clock.now)


def watch(clock: Clock) -> None:
    watching.watch(now=clock.now)


def to(order: CryptoOrder) -> str:
    return order.deposit_address.address


def fresh(order: CryptoOrder) -> CryptoOrder:
    return CryptoOrder.objects.select_related("deposit_address").get(pk=order.pk)


def pays(token: TokenContract, order: CryptoOrder, amount: int | None = None) -> str:
    return token.send(to(order), int(order.amount) if amount is None else amount)


def state(order: CryptoOrder) -> tuple[str, int]:
    """The order's status, and the units seen for it."""
    row = fresh(order)
    return row.status, int(row.seen)
