"""Money at deposit addresses and recorded sweeps, beside the ledger: what left without a record is told."""

from __future__ import annotations

import re

import pytest
from pytest_django import Settings

from billing import reconciled
from billing.models import Deposit
from billing.providers.crypto import abi, sweeps
from billing.reconciled import Reconciled
from tests import operating
from tests.billing.conftest import Clock
from tests.billing.crypto import HOUR, USD, Order, pays, settle, to, watch
from tests.doubles.chain import Chain

pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]


def read(clock: Clock) -> Reconciled:
    (found,) = reconciled.read(now=clock.now)
    return found


def read_all(coins: Chain, clock: Clock) -> None:
    """Read deposits to addresses without a waiting order too."""
    for _ in range(2):
        settle(coins, clock)
        watch(clock)
        clock.go(HOUR)


def books(query: str = "") -> str:
    page = operating.staff("view_books").get(f"/admin/billing/books/{query}")
    return " ".join(re.sub(r"<[^>]*>", "", page.content.decode()).split())


def why(found: Reconciled) -> list[str]:
    return [one.why for one in found.differences]


def test_money_that_left_an_address_without_a_recorded_sweep_is_told(
    order: Order, coins: Chain, clock: Clock, settings: Settings
) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    read_all(coins, clock)
    assert why(read(clock)) == []
    units = int(wanted.amount)
    tx_hash = coins.sweep(coins.usdt, to(wanted), units)
    coins.final()
    (gone,) = read(clock).differences
    assert (gone.name, gone.amount.split()[1]) == (to(wanted), wanted.asset)
    assert "no sweep of it is recorded" in gone.why
    assert "1 difference, the oldest since 2026-11-21" in books("?compare=now")
    assert "Compare them with the ledger now" in books()
    sweeps.record(tx_hash, reason="to the vault", actor="operator:x", now=clock.now)
    found = read(clock)
    assert (why(found), found.rows[0][-1]) == ([], "0 usdt")
    elsewhere = Deposit.objects.get()
    elsewhere.pk, elsewhere.chain_id = None, 56
    elsewhere.save()
    assert read(clock).notes == ["Chain 56 was not compared: coins came on it, and the settings name another chain."]
    settings.CRYPTO_RPC_URLS = ["http://127.0.0.1:9"]
    pays(coins.usdt, wanted)
    assert why(read(clock)) == []


def test_two_tokens_of_one_coin_are_compared_each_alone(
    order: Order, coins: Chain, clock: Clock, settings: Settings
) -> None:
    first = order()
    address, units = to(first), int(first.amount)
    pays(coins.usdt, first)
    read_all(coins, clock)
    newer = coins.deploy("USDT", 18)
    settings.CRYPTO_TOKENS = {"usdt": f"{newer.address}:18:USDT"}
    newer.send(address, 3 * 10**18)
    read_all(coins, clock)
    old, new = (abi.checksummed(token.address) for token in (coins.usdt, newer))
    found = read(clock)
    assert sorted(found.rows) == sorted(
        [
            ("usdt", old, f"{units // USD} usdt", "0 usdt", f"{units // USD} usdt"),
            ("usdt", new, "3 usdt", "0 usdt", "3 usdt"),
        ]
    )
    assert why(found) == []
    # As many units of the other token do not replace what is gone.
    tx_hash = coins.sweep(coins.usdt, address, units)
    newer.send(address, units)
    read_all(coins, clock)
    (gone,) = read(clock).differences
    assert gone.amount == f"{units // USD} usdt"
    (row,) = sweeps.record(tx_hash, reason="to the vault", actor="operator:x", now=clock.now)
    assert row.token == old
    assert why(read(clock)) == []
