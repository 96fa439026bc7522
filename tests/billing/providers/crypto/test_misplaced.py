"""Money that pays for nothing but is still noticed: other tokens, the chain's own coin, other chains."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from billing.models import CryptoOrder, Misplaced
from billing.providers.crypto import abi, misplaced
from billing.providers.crypto.misplaced import LOOKALIKES
from billing.vocabulary import OrderStatus
from tests.billing.conftest import DAY, Clock
from tests.billing.crypto import Order, fresh, settle, to, watch
from tests.doubles.chain import CHAIN_ID, Chain, TokenContract
from tests.doubles.rpc_proxy import RpcProxy

pytestmark = pytest.mark.django_db

OTHER = 137


@pytest.fixture
def watched(coins: Chain, settings: Settings) -> Chain:
    settings.CRYPTO_WATCHED_TOKENS = {"USDC.e": coins.fake.address}
    return coins


@pytest.fixture
def polygon(watched: Chain, settings: Settings) -> Iterator[RpcProxy]:
    """Another chain, where the same keys control the same addresses."""
    double = RpcProxy(watched.url)
    double.chain_id = OTHER
    settings.CRYPTO_OTHER_RPC_URLS = {OTHER: double.url}
    yield double
    double.stop()


def lies() -> set[tuple[int, str, int]]:
    return {(row.chain_id, row.symbol, int(row.amount)) for row in Misplaced.objects.filter(amount__gt=0)}


def test_a_look_alike_and_the_chains_own_coin_pay_nothing_and_are_seen(
    order: Order, watched: Chain, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    wanted = order()
    watched.fake.send(to(wanted), 5 * 10**18)
    watched.give(to(wanted), 10**17)
    settle(watched, clock)
    watch(clock)
    misplaced.look(now=clock.now)
    assert fresh(wanted).status == OrderStatus.PENDING
    assert lies() == {(CHAIN_ID, "USDC.e", 5 * 10**18), (CHAIN_ID, "native", 10**17)}
    assert caplog.messages.count("money came that pays for nothing") == 2
    caplog.clear()
    misplaced.look(now=clock.now)
    assert "money came that pays for nothing" not in caplog.messages, "told once"


def test_what_was_sent_on_another_chain_is_seen_there(
    order: Order, coins: Chain, polygon: RpcProxy, clock: Clock
) -> None:
    address, there = to(order()), LOOKALIKES[OTHER]["USDC.e"]
    coins.rpc("anvil_setCode", there, coins.rpc("eth_getCode", coins.fake.address, "latest"))
    TokenContract(coins, there, 6).do("mint(address,uint256)", address, 7)
    misplaced.look(now=clock.now)
    assert lies() == {(OTHER, "USDC.e", 7)}
    assert polygon.requests > 0


def test_a_chain_that_cannot_be_read_hides_nothing_of_the_others(
    order: Order, watched: Chain, polygon: RpcProxy, clock: Clock
) -> None:
    polygon.status = 500
    watched.fake.send(to(order()), 7)
    misplaced.look(now=clock.now)
    assert lies() == {(CHAIN_ID, "USDC.e", 7)}


def test_what_was_sent_back_is_there_no_more(order: Order, watched: Chain, clock: Clock) -> None:
    wanted = order()
    watched.fake.send(to(wanted), 7)
    misplaced.look(now=clock.now)
    seen = Misplaced.objects.get(symbol="USDC.e").seen_at
    CryptoOrder.objects.update(expires_at=clock.now - 20 * DAY)
    clock.go(DAY)
    watched.sweep(watched.fake, to(wanted), 7)
    misplaced.look(now=clock.now)
    row = Misplaced.objects.get(symbol="USDC.e")
    assert (int(row.amount), row.seen_at, row.read_at) == (0, seen, clock.now), (
        "looked at as long as something is there"
    )


def test_tokens_that_nobody_knows_are_not_looked_for(order: Order, coins: Chain, clock: Clock) -> None:
    coins.fake.send(to(order()), 7)
    misplaced.look(now=clock.now)
    assert lies() == set()


def test_nobody_is_asked_when_nobody_ordered(watched: Chain, polygon: RpcProxy, clock: Clock) -> None:
    misplaced.look(now=clock.now)
    assert polygon.requests == 0


def test_the_known_look_alikes_have_their_checksums() -> None:
    for tokens in LOOKALIKES.values():
        assert [abi.checksummed(address.lower()) for address in tokens.values()] == list(tokens.values())
