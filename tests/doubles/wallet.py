"""The operator's wallet: the account from which deposit addresses are derived. Its keys are public."""

from __future__ import annotations

from bip_utils import Bip32Slip10Secp256k1, EthAddrEncoder

ACCOUNT = Bip32Slip10Secp256k1.FromSeed(bytes(range(32))).DerivePath("m/44'/60'/7'")
XPUB: str = ACCOUNT.PublicKey().ToExtended()
XPRV: str = ACCOUNT.PrivateKey().ToExtended()


def first_address() -> str:
    """The first address, as the wallet shows it."""
    key = ACCOUNT.ChildKey(0).ChildKey(0).PublicKey().KeyObject()
    return str(EthAddrEncoder.EncodeKey(key))
