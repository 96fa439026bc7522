"""What contracts are asked and answer in bytes, and addresses with their checksums: by web3, imported on first use.

web3 costs a process half a second and some 30 MB; those that have nothing to do with a chain never pay for it.
"""

from __future__ import annotations

import sys
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from web3 import Web3

KEPT = 10_000  # addresses, a few megabytes


@cache
def _web3() -> Web3:
    limit = sys.getrecursionlimit()
    try:
        from web3 import Web3  # noqa: PLC0415 # see above
    finally:
        # A part of it raises the limit a hundredfold: a body of nested lists would then end the process, not the call.
        sys.setrecursionlimit(limit)
    return Web3()


def is_address(text: str) -> bool:
    """Whether it is one; with letters of both cases their checksum (EIP-55) must be right."""
    known = _web3()
    if not text.startswith("0x") or not known.is_address(text):
        return False
    return text[2:] in {text[2:].lower(), text[2:].upper()} or known.is_checksum_address(text)


def checksummed(address: str) -> str:
    return str(_web3().to_checksum_address(address))


@cache
def selector(signature: str) -> str:
    """How a call of `balanceOf(address)` begins."""
    return "0x" + _web3().keccak(text=signature)[:4].hex()


@cache
def topic(signature: str) -> str:
    """How the log of an event `Transfer(address,address,uint256)` begins."""
    return "0x" + _web3().keccak(text=signature).hex()


def text_in(data: bytes) -> str:
    """The one string in an answer. Raises ValueError when there is none."""
    from eth_abi.exceptions import DecodingError  # noqa: PLC0415 # web3's own

    try:
        (found,) = _web3().codec.decode(["string"], data)
    except DecodingError as error:
        raise ValueError("no text") from error
    return str(found)


@lru_cache(maxsize=KEPT)
def word_of(address: str) -> str:
    """An address as an argument of a call, or behind `0x` of an event. Asked for each address again and again."""
    return str(_web3().codec.encode(["address"], [address]).hex())


def address_in(word: Any) -> str:
    """The address in an indexed argument. Raises ValueError and TypeError for what is none."""
    return checksummed("0x" + word[-40:])
