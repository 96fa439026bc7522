"""Money at deposit addresses and recorded sweeps, beside the ledger: what left without a record is told."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from billing import reconciled
from billing.models import Deposit
from billing.providers.crypto import sweeps
from billing.reconciled import Reconciled
from tests.billing.conftest import Clock
from tests.billing.crypto import Order, pays, settle, to, watch
from tests.doubles.chain import Chain

pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]


def read(clock: Clock) -> Reconciled:
    (found,) = reconciled.read(now=clock.now)
    return found


def why(found: Reconciled) -> list[str]:
    return [one.why for one in found.differences]


def test_money_that_left_an_address_without_a_recorded_sweep_is_told(
    order: Order, coins: Chain, clock: Clock, settings: Settings
) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    for _ in range(2):
        settle(coins, clock)
        watch(clock)
    assert why(read(clock)) == []
    units = int(wanted.amount)
    tx_hash = coins.sweep(coins.usdt, to(wanted), units)
    coins.final()
    (gone,) = read(clock).differences
    assert (gone.name, gone.amount.split()[1]) == (to(wanted), wanted.asset)
    assert "no sweep of it is recorded" in gone.why
    sweeps.record(tx_hash, reason="to the vault", actor="operator:x", now=clock.now)
    found = read(clock)
    assert (why(found), found.rows[0][3]) == ([], "0 usdt")
    elsewhere = Deposit.objects.get()
    elsewhere.pk, elsewhere.chain_id = None, 56
    elsewhere.save()
    assert read(clock).notes == ["Chain 56 was not compared: coins came on it, and the settings name another chain."]
    settings.CRYPTO_RPC_URLS = ["http://127.0.0.1:9"]
    pays(coins.usdt, wanted)
    assert why(read(clock)) == []
