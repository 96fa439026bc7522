"""A real EVM chain for tests: anvil, tokens on it, and customers who pay.

Each transaction gets its own block. `finalized` is two blocks behind the newest block, so `final()` mines two blocks.
"""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import requests
from eth_abi.abi import encode
from eth_utils.abi import function_signature_to_4byte_selector

from tests.anvil import anvil

CHAIN_ID = 31337
PATIENCE = 2000  # how often to ask for a receipt, which appears a moment after its block
GENESIS = "1790000000"  # earlier than the clocks of all tests
TOKEN: dict[str, Any] = json.loads((Path(__file__).parent / "tokens" / "Token.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class TokenContract:
    chain: Chain
    address: str
    decimals: int

    def send(self, to: str, amount: int) -> str:
        """Transfer tokens from a customer, in a block of its own. Returns the hash of the transaction."""
        return self.chain.call(self.address, "transfer(address,uint256)", to, amount, sender=self.chain.customer)

    def held(self, owner: str) -> int:
        call = {"to": self.address, "data": called("balanceOf(address)", owner)}
        return int(self.chain.rpc("eth_call", call, "latest"), 16)

    def do(self, signature: str, *values: Any, sender: str | None = None) -> str:
        return self.chain.call(self.address, signature, *values, sender=sender or self.chain.customer)


class Chain:
    """A chain that listens as soon as it is created. `first_block` is the number of its oldest block."""

    def __init__(self, port: int = 0, *, first_block: int = 0) -> None:
        flags = ("--host", "127.0.0.1", "--port", str(port), "--chain-id", str(CHAIN_ID), "--slots-in-an-epoch", "1")
        first = ("--timestamp", GENESIS, "--number", str(first_block), "--accounts", "3")
        self._process = subprocess.Popen([anvil(), *flags, *first], stdout=subprocess.PIPE, text=True)
        self.url = self._listening()
        self._session, self._numbers = requests.Session(), itertools.count(1)
        self.customer: str = self.rpc("eth_accounts")[0]
        self.usdt = self.deploy("USDT", 6)
        self.usdc = self.deploy("USDC", 18)
        self.fake = self.deploy("USDC", 18)
        self.mine(4)

    def _listening(self) -> str:
        for line in self._process.stdout or ():
            if found := re.search(r"Listening on (\S+)", line):
                threading.Thread(target=self._forget, daemon=True).start()
                return f"http://{found[1]}"
        raise RuntimeError("anvil did not start")

    def _forget(self) -> None:
        """Read and drop the program's further output: a full pipe would block the program."""
        with self._process.stdout or nullcontext(()) as lines:
            for _ in lines:
                continue

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._session.close()

    def rpc(self, method: str, *params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": list(params)}
        answer = self._session.post(self.url, json=body, timeout=30).json()
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def deploy(self, symbol: str, decimals: int) -> TokenContract:
        arguments = encode(["string", "uint8"], [symbol, decimals]).hex()
        receipt = self._worked({"data": TOKEN["bytecode"] + arguments}, self.customer)
        token = TokenContract(self, receipt["contractAddress"], decimals)
        token.do("mint(address,uint256)", self.customer, 10**40)
        return token

    def call(self, to: str, signature: str, *values: Any, sender: str) -> str:
        return str(self._worked({"to": to, "data": called(signature, *values)}, sender)["transactionHash"])

    def _worked(self, transaction: dict[str, str], sender: str) -> dict[str, Any]:
        receipt = self._receipt(transaction, sender)
        if receipt["status"] != "0x1":
            raise RuntimeError(f"reverted: {receipt}")
        return receipt

    def _receipt(self, transaction: dict[str, str], sender: str) -> dict[str, Any]:
        sent = self.rpc("eth_sendTransaction", {**transaction, "from": sender, "gas": hex(3_000_000)})
        receipts = (self.rpc("eth_getTransactionReceipt", sent) for _ in range(PATIENCE))
        receipt: dict[str, Any] = next(found for found in receipts if found is not None)
        return receipt

    def give(self, owner: str, amount: int) -> str:
        """Send the chain's own coin from a customer. Returns the hash of the transaction."""
        return str(self._worked({"to": owner, "value": hex(amount)}, self.customer)["transactionHash"])

    def sweep(self, token: TokenContract, owner: str, amount: int) -> str:
        """Empty a deposit address as an operator's wallet does, even if the token refuses. Returns the hash."""
        self.rpc("anvil_impersonateAccount", owner)
        self.rpc("anvil_setBalance", owner, hex(10**18))
        data = called("transfer(address,uint256)", self.customer, amount)
        receipt = self._receipt({"to": token.address, "data": data}, owner)
        self.rpc("anvil_setBalance", owner, "0x0")
        return str(receipt["transactionHash"])

    @property
    def head(self) -> int:
        return int(self.rpc("eth_blockNumber"), 16)

    def mine(self, blocks: int = 1, *, at: datetime | None = None) -> None:
        if at is not None:
            self.rpc("evm_setNextBlockTimestamp", int(at.timestamp()))
        self.rpc("anvil_mine", hex(blocks))

    def final(self) -> None:
        """Make all transactions so far final."""
        self.mine(2)

    def reorganise(self, depth: int, *, again: Sequence[str] = (), at: int | None = None) -> None:
        """Replace the newest `depth` blocks. The transactions `again` are in the last new block, or in block `at`."""
        self.rpc("anvil_reorg", depth, [[transaction, depth - 1 if at is None else at] for transaction in again])

    def raw(self, tx_hash: str) -> str:
        """The signed transaction as hexadecimal text."""
        return str(self.rpc("eth_getRawTransactionByHash", tx_hash))

    def block_of(self, tx_hash: str) -> str:
        return str(self.rpc("eth_getTransactionReceipt", tx_hash)["blockHash"])

    def snapshot(self) -> str:
        return str(self.rpc("evm_snapshot"))

    def revert(self, snapshot: str) -> None:
        self.rpc("evm_revert", snapshot)


def called(signature: str, *values: Any) -> str:
    """The data of a contract call as hexadecimal text."""
    types = [part for part in signature[signature.index("(") + 1 : -1].split(",") if part]
    return "0x" + (function_signature_to_4byte_selector(signature) + encode(types, values)).hex()
