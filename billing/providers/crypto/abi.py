"""Encode contract calls, decode their answers, and check the checksums of addresses, with eth-abi and eth-utils.

These libraries cost a process a quarter of a second and 13 MB, so they are imported at first use: an installation
without stablecoins never loads them. With stablecoins they are loaded before threads start (billing/apps.py).
web3 itself is not used: importing a part of it (py_ecc) raises Python's recursion limit a hundredfold.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

KEPT = 10_000  # addresses in the cache, a few megabytes


def is_address(text: str) -> bool:
    """Whether the text is an address. If it has letters of both cases, their checksum (EIP-55) must be right."""
    from eth_utils.address import is_checksum_address, is_hex_address  # noqa: PLC0415 # see above

    if not text.startswith("0x") or not is_hex_address(text):
        return False
    return text[2:] in {text[2:].lower(), text[2:].upper()} or is_checksum_address(text)


def checksummed(address: str) -> str:
    from eth_utils.address import to_checksum_address  # noqa: PLC0415

    return str(to_checksum_address(address))


@cache
def selector(signature: str) -> str:
    """The first four bytes of a call, such as `balanceOf(address)`."""
    return "0x" + _keccak(signature)[:4].hex()


@cache
def topic(signature: str) -> str:
    """The first topic of an event, such as `Transfer(address,address,uint256)`."""
    return "0x" + _keccak(signature).hex()


def _keccak(text: str) -> bytes:
    from eth_utils.crypto import keccak  # noqa: PLC0415

    return bytes(keccak(text=text))


def text_in(data: bytes) -> str:
    """The one string in an answer. Raises ValueError if there is none."""
    from eth_abi.abi import decode  # noqa: PLC0415
    from eth_abi.exceptions import DecodingError  # noqa: PLC0415

    try:
        (found,) = decode(["string"], data)
    except DecodingError as error:
        raise ValueError("no text") from error
    return str(found)


@lru_cache(maxsize=KEPT)
def word_of(address: str) -> str:
    """An address as an argument of a call, or of an event after `0x`.

    Cached, since the same addresses come again and again.
    """
    from eth_abi.abi import encode  # noqa: PLC0415

    return encode(["address"], [address]).hex()


def address_in(word: Any) -> str:
    """The address in an indexed argument. Raises ValueError or TypeError if it is not an address."""
    return checksummed("0x" + word[-40:])
