"""The ABI and checksums, by web3, and only for whoever asks a chain."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from billing.crypto import abi

USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"


def test_a_call_and_an_event_are_known_by_their_names() -> None:
    assert abi.selector("balanceOf(address)") == "0x70a08231"
    assert abi.topic("Transfer(address,address,uint256)").startswith("0xddf252ad1be2c89b")
    assert abi.word_of(USDC) == "0" * 24 + USDC[2:].lower()
    assert abi.address_in("0x" + abi.word_of(USDC)) == USDC


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (USDC, True),
        (USDC.lower(), True),
        (USDC.replace("fCD6", "fcD6"), False),
        (USDC[2:], False),
        (USDC[:-1], False),
        ("", False),
        ("vitalik.eth", False),
    ],
)
def test_an_address_with_a_wrong_checksum_is_none(text: str, known: bool) -> None:
    assert abi.is_address(text) is known


def test_what_is_no_text_is_said() -> None:
    assert abi.text_in(bytes.fromhex("20".rjust(64, "0") + "4".rjust(64, "0") + b"USDC".hex().ljust(64, "0"))) == "USDC"
    for junk in (b"", b"\1" * 40):
        with pytest.raises(ValueError, match="no text"):
            abi.text_in(junk)


def test_a_web_process_does_not_pay_for_web3_when_it_starts() -> None:
    code = "import sys, django; django.setup(); import config.urls, config.wsgi; print('web3' in sys.modules)"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


def test_web3_does_not_let_deeply_nested_bodies_end_the_process() -> None:
    code = "import sys, json; from billing.crypto import abi; abi.selector('x()'); json.loads('[' * 1_000_000)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, "RecursionError" in done.stderr) == (1, True)
