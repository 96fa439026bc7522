"""Deposit addresses: derived from an xpub, one for each agent. A wrong xpub stops the start."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from bip_utils import Bip44, Bip44Coins
from pytest_django import Settings

from billing.models import DepositAddress
from billing.providers.crypto import addresses, configuration, orders
from billing.providers.crypto.errors import Misconfigured
from tests.agents.conftest import MakeAgent
from tests.billing.conftest import NOON
from tests.doubles.chain import Chain
from tests.doubles.wallet import ACCOUNT, XPRV, XPUB, first_address

pytestmark = pytest.mark.sampled


def test_addresses_are_those_that_a_wallet_with_the_keys_derives() -> None:
    wallet = Bip44.FromSeed(bytes(range(32)), Bip44Coins.ETHEREUM).Purpose().Coin().Account(0)
    account = addresses.account(wallet.PublicKey().ToExtended(), _at(wallet, 0))
    assert [account.address(index) for index in range(5)] == [_at(wallet, index) for index in range(5)]


def _at(wallet: Bip44, index: int) -> str:
    from bip_utils import Bip44Changes

    return str(wallet.Change(Bip44Changes.CHAIN_EXT).AddressIndex(index).PublicKey().ToAddress())


def test_a_private_key_is_refused() -> None:
    with pytest.raises(Misconfigured, match="private key") as raised:
        addresses.account(XPRV, first_address())
    assert XPRV not in str(raised.value)


def test_nothing_starts_with_a_private_key() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import config.settings"],
        env={**os.environ, "CRYPTO_XPUB": XPRV},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "CRYPTO_XPUB holds a private key" in done.stderr
    assert XPRV not in done.stderr


@pytest.mark.parametrize(
    ("xpub", "first", "why"),
    [
        ("", "", "not an extended public key"),
        (XPUB[:-1] + "1", first_address(), "not an extended public key"),
        (ACCOUNT.ChildKey(0).PublicKey().ToExtended(), first_address(), "of an account"),
        (XPUB, "", "CRYPTO_FIRST_ADDRESS"),
        (XPUB, "0x" + "1" * 40, "CRYPTO_FIRST_ADDRESS"),
    ],
)
def test_a_wrong_account_is_refused(xpub: str, first: str, why: str) -> None:
    with pytest.raises(Misconfigured, match=why):
        addresses.account(xpub, first)


@pytest.mark.django_db
def test_with_a_wrong_account_stablecoins_are_off(coins: Chain, settings: Settings) -> None:
    assert orders.info().enabled
    settings.CRYPTO_FIRST_ADDRESS = "0x" + "1" * 40
    assert not orders.info().enabled


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CRYPTO_RPC_URLS", []),
        ("CRYPTO_CONFIRMATION", "depth:0"),
        ("CRYPTO_TOKENS", {"usdt": "0x12:6:USDT"}),
        ("CRYPTO_TOKENS", {"dai": "0x" + "1" * 40 + ":6:DAI"}),
    ],
)
def test_half_a_configuration_is_none(coins: Chain, settings: Settings, name: str, value: object) -> None:
    setattr(settings, name, value)
    assert configuration.current() is None


@pytest.mark.django_db
def test_each_agent_keeps_its_address_and_no_index_is_given_twice(coins: Chain, make_agent: MakeAgent) -> None:
    known = configuration.current()
    assert known is not None
    first, second = make_agent(), make_agent()
    rows = [addresses.address_of(agent, known.account, now=NOON) for agent in (first, second, first)]
    assert rows[0] == rows[2]
    assert len({row.hd_index for row in rows}) == len({row.address for row in rows}) == 2
    assert DepositAddress.objects.count() == 2
    assert [known.account.address(row.hd_index) for row in rows] == [row.address for row in rows]
