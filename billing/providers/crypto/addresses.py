"""One deposit address per agent, derived from the account's xpub: `0/<index>`. This service has no private keys.

An index comes from a database sequence and is never used twice. After an old backup is restored, an operator must set
the sequence forward (docs/reference/settings.md).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from django.db import connection, transaction

from agents.models import Agent
from billing.models import DepositAddress
from billing.providers.crypto.errors import Misconfigured

if TYPE_CHECKING:
    from bip_utils import Bip32Slip10Secp256k1

ACCOUNT_DEPTH = 3  # m/44'/60'/account'
SEQUENCE = "billing_deposit_index"


@dataclass(frozen=True, slots=True)
class XpubAccount:
    fingerprint: str
    _branch: Bip32Slip10Secp256k1 = field(repr=False, compare=False)

    def address(self, index: int) -> str:
        """The address at this index, with its EIP-55 checksum."""
        from bip_utils import EthAddrEncoder  # noqa: PLC0415 # as below

        key = self._branch.ChildKey(index).PublicKey().KeyObject()
        return str(EthAddrEncoder.EncodeKey(key))


def account(xpub: str, first_address: str) -> XpubAccount:
    """The account of this xpub. Its first address must be the one that the operator has set.

    Raises Misconfigured: money that is sent to a wrong account is lost.
    """
    # This import takes a seventh of Django's start time, so only installations with stablecoins load it.
    from bip_utils import Base58ChecksumError, Bip32KeyError, Bip32Slip10Secp256k1  # noqa: PLC0415

    try:
        node = Bip32Slip10Secp256k1.FromExtendedKey(xpub)
    except (Base58ChecksumError, Bip32KeyError, ValueError) as error:
        raise Misconfigured("CRYPTO_XPUB: is not an extended public key") from error
    if not node.IsPublicOnly():
        raise Misconfigured("CRYPTO_XPUB: is a private key; give the account's xpub, and move its money")
    if node.Depth().ToInt() != ACCOUNT_DEPTH:
        raise Misconfigured("CRYPTO_XPUB: must be the key of an account, such as m/44'/60'/0'")
    found = XpubAccount(hashlib.sha256(xpub.encode()).hexdigest()[:16], node.ChildKey(0))
    if found.address(0).lower() != first_address.lower():
        raise Misconfigured(
            f"CRYPTO_FIRST_ADDRESS: is {first_address or 'not given'}, while 0/0 of CRYPTO_XPUB is {found.address(0)};"
            " compare with the wallet that holds its keys"
        )
    return found


def address_of(agent: Agent, account: XpubAccount, *, now: datetime) -> DepositAddress:
    """The agent's address, assigned at its first order. If two calls run in parallel, one index stays unused."""
    known = DepositAddress.objects.filter(agent=agent, account=account.fingerprint).first()
    if known is not None:
        return known
    index = next_index()
    with transaction.atomic():
        DepositAddress.objects.bulk_create(
            [
                DepositAddress(
                    agent=agent,
                    account=account.fingerprint,
                    hd_index=index,
                    address=account.address(index),
                    created_at=now,
                )
            ],
            ignore_conflicts=True,
        )
    return DepositAddress.objects.get(agent=agent, account=account.fingerprint)


def next_index() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval(%s)", [SEQUENCE])
        row = cursor.fetchone()
    return int(row[0])
