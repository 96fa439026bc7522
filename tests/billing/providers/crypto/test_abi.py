"""The ABI, address checksums, and which libraries are imported for them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from billing.providers.crypto import abi
from tests.coverage_scope import unmeasured
from tests.doubles.wallet import XPUB, first_address

pytestmark = [pytest.mark.sampled, pytest.mark.unmeasured]

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


CONFIGURED = {
    "CRYPTO_RPC_URLS": "http://127.0.0.1:9",
    "CRYPTO_XPUB": XPUB,
    "CRYPTO_FIRST_ADDRESS": first_address(),
    "CRYPTO_CHAIN_ID": "8453",
}
LIBRARIES = ["bip_utils", "eth_abi", "eth_utils"]
LOADED = f"import sys; print(*[name for name in {LIBRARIES} if name in sys.modules])"
WEB = "import django; django.setup(); import config.urls, config.wsgi; from config.run import web; web._warm()"
WORKER = "import django; django.setup(); from celery.signals import worker_init; worker_init.send(None)"


def ran(code: str, **environ: str) -> str:
    environment = {**unmeasured(), "DJANGO_SETTINGS_MODULE": "config.settings", **environ}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("start", [WEB, WORKER])
def test_the_libraries_of_stablecoins_are_there_before_threads_start_and_only_where_they_are_taken(start: str) -> None:
    assert ran(f"{start}; {LOADED}") == ""
    assert ran(f"{start}; {LOADED}", **CONFIGURED).split() == LIBRARIES


def test_first_callers_at_once_leave_the_limit_of_recursion_as_it_was() -> None:
    """web3 raises the recursion limit. Two threads once failed to restore it, and a nested body ended the process."""
    code = (
        "import django, sys, threading; django.setup()\n"
        "from billing.providers.crypto import abi, configuration\n"
        "def ask():\n"
        "    abi.word_of(configuration.current().account.address(0)); abi.selector('x()')\n"
        "callers = [threading.Thread(target=ask) for _ in range(40)]\n"
        "[caller.start() for caller in callers]; [caller.join() for caller in callers]\n"
        "assert 'web3' not in sys.modules and 'py_ecc' not in sys.modules\n"
        "print(sys.getrecursionlimit())\n"
    )
    assert ran(code, **CONFIGURED) == "1000"
